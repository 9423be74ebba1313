/**
 * What is paused, as a worker knows it: never older than two seconds at a claim, unless its session listens. Then it is told
 * of each change, and the look at the sessions finds what it was not told of.
 *
 * It is known from the table alone: whatever is heard is a reason to read that again, so it does not matter in which order
 * things come, and none is claimed between the hearing and the reading.
 */
import { isTableFault, sqlState } from '../database/sqlstate.js';
import { type TableName, tableName, tablePlace } from '../database/table-name.js';
import type { JobLimitsTable } from '../database/tables.js';
import type { Served } from '../sql/claim-next.js';
import { type FoundPauses, findPauses } from '../sql/find-pauses.js';
import { mayRead } from '../sql/may-read.js';
import { createAlarm } from './alarm.js';
import type { Events, PausedPart } from './events.js';
import type { Settings } from './options.js';
import type { Statements } from './statements.js';
import { type WhatIsPaused, whatIsPaused } from './what-is-paused.js';

/** How long what was read counts where nobody tells of changes. */
const freshMs = 2_000;
/** The same where there is no table that could be read. */
const absentMs = 30_000;
const missingRight = '42501';

export interface Paused {
  /** Whether it is known what is paused. */
  isKnown(): boolean;
  /** Resolves when it is, and rejects where it cannot be read. */
  known(): Promise<void>;
  /** Whether nothing is to be claimed from a queue. */
  holds(queue: string): boolean;
  /** The kinds to claim. */
  served(): Served;
  /** Told that something was paused or resumed. */
  heard(): void;
  /** The table, where it can be read. */
  table(): TableName | undefined;
  /** Told of a look of a session that listens, or does not, and of what it found in the table, where it was asked that. */
  looked(listening: boolean, text: string | undefined): void;
  /** The session is gone. */
  ended(): void;
  /** Until stopped: reads now and then what may have been resumed, where nobody tells. */
  run(): Promise<void>;
  stop(): void;
}

/** `resumed` is told of each queue that there may be jobs to claim in; of all, where a kind was resumed. */
export function createPaused(
  statements: Statements,
  { kinds, slots, tables: { jobLimits } }: Pick<Settings, 'kinds' | 'slots' | 'tables'>,
  events: Events,
  resumed: (queue: string | undefined) => void,
): Paused {
  const alarm = createAlarm();
  let current = whatIsPaused(kinds, []);
  /** The table as it was read. */
  let text: string | undefined;
  /** When it was read last, and for how long that counts. */
  let readAt = Number.NEGATIVE_INFINITY;
  let countsMs = freshMs;
  /** How many changes there may have been, and how many of them were there when the last reading began. */
  let changes = 0;
  let changesRead = 0;
  /** A session tells of changes. */
  let told = false;
  let reading: Promise<void> | undefined;
  let stopped = false;

  function isKnown(): boolean {
    return !jobLimits || (changes === changesRead && (told || performance.now() - readAt < countsMs));
  }

  async function read(table: JobLimitsTable): Promise<void> {
    const before = changes; // what is heard from here on, this reading may not have seen
    const found = await readPauses(statements, table, text === undefined);
    changesRead = before;
    text = found?.text;
    countsMs = found ? freshMs : absentMs;
    told = told && found !== undefined;
    readAt = performance.now();
    become(whatIsPaused(kinds, found?.pauses ?? []));
    alarm.wake();
  }

  /** Events are about what this worker serves. */
  function become(next: WhatIsPaused): void {
    const before = current;
    current = next;
    for (const queue of slots.keys()) {
      if (tell(before.queues.has(queue), next.queues.has(queue), { queue })) resumed(queue);
    }
    for (const kind of new Set([...kinds.values()].map(({ name }) => name))) {
      if (tell(before.kinds.has(kind), next.kinds.has(kind), { kind })) resumed(undefined);
    }
  }

  /** Tells what has changed; whether it was resumed. */
  function tell(was: boolean, is: boolean, part: PausedPart): boolean {
    if (was !== is && !stopped) events.emit(is ? 'paused' : 'resumed', part);
    return was && !is;
  }

  async function known(): Promise<void> {
    while (jobLimits && !isKnown()) {
      reading ??= read(jobLimits).finally(() => {
        reading = undefined;
      });
      await reading;
    }
  }

  /** Not waited for: where it fails, the next claim tries again, and tells. */
  function readSoon(): void {
    if (!stopped) known().catch(() => {});
  }

  return {
    isKnown,
    known,
    holds: (queue) => current.queues.has(queue) || current.served.kinds.length === 0,
    served: () => current.served,
    heard() {
      changes++;
      readSoon();
    },
    table: () => (jobLimits && text !== undefined ? tableName(jobLimits) : undefined),
    looked(listening, found) {
      if (found === undefined) return;
      told = listening;
      if (found === text) return;
      changes++;
      readSoon();
    },
    ended() {
      told = false;
      changes++; // whatever came since its last look was not heard
      readSoon();
    },
    async run() {
      while (jobLimits && !stopped) {
        // Where nothing is paused, the claims have it read.
        if (current.queues.size > 0 || current.kinds.size > 0) readSoon();
        const leftMs = readAt + countsMs - performance.now();
        await alarm.sleep(leftMs > 0 && !told ? leftMs + 1 : freshMs);
      }
    },
    stop() {
      stopped = true;
      alarm.wake();
    },
  };
}

/** Undefined where there is no such table, or no right to it: then nothing is paused. */
async function readPauses(
  statements: Statements,
  table: JobLimitsTable,
  mayBeMissing: boolean,
): Promise<FoundPauses | undefined> {
  // Asked first: a statement that fails is a line in the log of Postgres, and holds back rescues.
  if (mayBeMissing && !(await statements.send((db) => mayRead(db, tablePlace(table))))) return undefined;
  try {
    return await statements.send((db) => findPauses(db, tableName(table)));
  } catch (error) {
    if (isTableFault(error) || sqlState(error) === missingRight) return undefined;
    throw error;
  }
}
