/** Makes the moves of a person: checks, statements of a bounded size, answers in the order of the ids. */
import { type Executor, isTransaction } from '../database/executor.js';
import { channelOf, tableName } from '../database/table-name.js';
import type { JobsTable } from '../database/tables.js';
import { namesOf } from '../registry/aliases.js';
import { payloadText } from '../registry/payload.js';
import { type AnyRegistry, kindOf } from '../registry/registry.js';
import { cancel } from '../sql/cancel.js';
import { type FinalFilter, findFinal } from '../sql/find-final.js';
import { largestMove, type MovedRow } from '../sql/persons-move.js';
import { remove } from '../sql/remove.js';
import { reschedule } from '../sql/reschedule.js';
import { update } from '../sql/update.js';
import { checkFilter, checkId, checkIds, checkReplayOptions, checkTime } from './check-moves.js';
import type { Moves } from './moves.js';
import { replaySkipping } from './replay-skipping.js';
import { rolledBack } from './rolled-back.js';

type Send = (db: Executor, ids: readonly number[]) => Promise<MovedRow[]>;

interface MovesOptions {
  readonly registry: AnyRegistry;
  readonly jobs: JobsTable;
  readonly maxPayloadBytes: number;
  /** Throws for what this queue does not take as a database or transaction. */
  assertUsable(tx: unknown): void;
}

/** The object's part with the moves; its types are those of `Moves`. */
export function createMoves({ registry, jobs, maxPayloadBytes, assertUsable }: MovesOptions) {
  const table = tableName(jobs);
  const channel = channelOf(jobs);

  /** One answer for one id, a list for a list. */
  async function oneOrMany(tx: Executor, given: unknown, send: Send): Promise<MovedRow | MovedRow[]> {
    assertUsable(tx);
    if (Array.isArray(given)) return inParts(tx, checkIds(given), send);
    return one(tx, checkId(given), send);
  }

  async function one(tx: Executor, id: number, send: Send): Promise<MovedRow> {
    return only(id, await inParts(tx, [id], send));
  }

  function replayEach(
    tx: Executor,
    ids: readonly number[],
    preview: boolean,
    filter: FinalFilter = {},
  ): Promise<MovedRow[]> {
    const send: Send = (db, some) => replaySkipping(db, table, channel, some, filter);
    if (!preview || ids.length === 0) return inParts(tx, ids, send);
    return rolledBack(tx, (inner) => inParts(inner, ids, send)); // as if it were done, which is undone
  }

  return {
    cancel(tx: Executor, ids: unknown) {
      return oneOrMany(tx, ids, (db, some) => cancel(db, table, channel, some));
    },

    async replay(tx: Executor, which: unknown, options?: unknown) {
      assertUsable(tx);
      const preview = checkReplayOptions(options);
      if (Array.isArray(which)) return replayEach(tx, checkIds(which), preview);
      if (typeof which === 'object' && which !== null) {
        const { filter, limit } = checkFilter(which, (kind) => namesOf(registry.kinds, kind));
        return replayEach(tx, await findFinal(tx, table, filter, limit), preview, filter);
      }
      const id = checkId(which);
      return only(id, await replayEach(tx, [id], preview));
    },

    async reschedule(tx: Executor, given: unknown, time: unknown) {
      assertUsable(tx);
      const [id, when] = [checkId(given), checkTime(time)];
      return one(tx, id, (db, ids) => reschedule(db, table, channel, ids, when));
    },

    async runNow(tx: Executor, id: unknown) {
      assertUsable(tx);
      return one(tx, checkId(id), (db, ids) => reschedule(db, table, channel, ids, { delayMs: 0 }));
    },

    async update(tx: Executor, kind: string, given: unknown, payload?: unknown) {
      assertUsable(tx);
      const { version } = kindOf(registry, kind);
      const id = checkId(given);
      const text = payloadText(kind, payload, maxPayloadBytes);
      const names = namesOf(registry.kinds, kind);
      const fresh = { kinds: names, payload: text, payloadVersion: version };
      return one(tx, id, (db, ids) => update(db, table, ids, fresh));
    },

    remove(tx: Executor, ids: unknown) {
      return oneOrMany(tx, ids, (db, some) => remove(db, table, channel, some));
    },
  } satisfies { readonly [Name in keyof Moves<AnyRegistry, Executor>]: unknown };
}

function only(id: number, [answer]: readonly MovedRow[]): MovedRow {
  return answer ?? { id, result: 'gone', state: null };
}

/** Several statements are one transaction: the caller's, or one of our own. */
async function inParts(tx: Executor, ids: readonly number[], send: Send): Promise<MovedRow[]> {
  const each = [...new Set(ids)].sort((a, b) => a - b); // the order in which rows are locked
  if (each.length > largestMove && !isTransaction(tx)) {
    return tx.transaction((inner: Executor) => inParts(inner, ids, send));
  }
  const answerOf = new Map<number, MovedRow>();
  for (let from = 0; from < each.length; from += largestMove) {
    for (const answer of await twice(tx, each.slice(from, from + largestMove), send)) {
      answerOf.set(answer.id, answer);
    }
  }
  return ids.map((id) => answerOf.get(id) ?? { id, result: 'gone', state: null });
}

/** Who was busy is asked once more: most of them only changed while the statement began, and what they are now is the answer. */
async function twice(tx: Executor, ids: readonly number[], send: Send): Promise<MovedRow[]> {
  const answers = await send(tx, ids);
  const busy = answers.filter(({ result }) => result === 'busy').map(({ id }) => id);
  return busy.length === 0 ? answers : [...answers, ...(await send(tx, busy))];
}
