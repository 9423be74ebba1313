/**
 * Deletes the rows of throttles whose period is over: they mean nothing any more. Not at once, since one that is there saves
 * the next enqueue of its key a statement. An app may have no such table, and a worker no right on it: then nothing is done.
 */
import { isPassing, isTableFault, sqlState } from '../database/sqlstate.js';
import { tableName, tablePlace } from '../database/table-name.js';
import type { JobThrottleTable } from '../database/tables.js';
import { deleteThrottles, largestDelete } from '../sql/delete-throttles.js';
import { mayDelete } from '../sql/may-delete.js';
import { createAlarm } from './alarm.js';
import type { Events } from './events.js';
import type { Statements } from './statements.js';

const missingRight = '42501';
/** How long a period has been over when its row goes. */
const overForS = 600;
/** The time between two looks; each worker has its own, so that they do not look together. */
const lookMs = { shortest: 60_000, longest: 120_000 };

export interface Throttles {
  /** Looks at once and from time to time, until stopped. */
  run(): Promise<void>;
  stop(): void;
}

export function createThrottles(
  statements: Statements,
  table: JobThrottleTable | undefined,
  events: Events,
): Throttles {
  const alarm = createAlarm();
  let stopped = false;

  async function look(table: JobThrottleTable): Promise<void> {
    try {
      // Asked first: a statement that fails is a line in the log of Postgres, and holds back rescues.
      let more = await statements.send((db) => mayDelete(db, tablePlace(table)));
      while (more && !stopped) {
        const deleted = await statements.send((db) => deleteThrottles(db, tableName(table), overForS));
        more = deleted === largestDelete;
      }
    } catch (error) {
      if (stopped || isPassing(error) || isTableFault(error) || sqlState(error) === missingRight) return;
      events.emit('error', { error, during: 'throttle', retryInMs: lookMs.longest });
    }
  }

  return {
    async run() {
      while (table && !stopped) {
        await look(table);
        await alarm.sleep(lookMs.shortest + Math.random() * (lookMs.longest - lookMs.shortest));
      }
    },
    stop() {
      stopped = true;
      alarm.wake();
    },
  };
}
