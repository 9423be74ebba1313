/** Makes what pauses and resumes: checks, and every name that rows of a kind may have. */
import { assertExecutor, type Executor } from '../database/executor.js';
import { isTableFault } from '../database/sqlstate.js';
import { channelOf, type TableName, tableName } from '../database/table-name.js';
import type { QueueTables } from '../database/tables.js';
import { kindOfAlias, namesOf } from '../registry/aliases.js';
import { type AnyRegistry, kindOf, queueOf } from '../registry/registry.js';
import { findPauses } from '../sql/find-pauses.js';
import { pause } from '../sql/pause.js';
import { resume } from '../sql/resume.js';
import { checkKeys, checkName } from '../words/checks.js';
import { invalidOption } from '../words/errors.js';
import type { PauseScope, StoredPause } from '../words/pauses.js';
import type { PauseAnswer, Pauses } from './pauses.js';
import { tableNotGiven, tableNotThere } from './table-missing.js';

interface PausesOptions {
  readonly registry: AnyRegistry;
  readonly tables: QueueTables;
  /** Throws for what this queue does not take as a database or transaction. */
  assertUsable(tx: unknown): void;
}

/** The object's part with the pauses; its types are those of `Pauses`. */
export function createPauses({ registry, tables: { jobs, jobLimits }, assertUsable }: PausesOptions) {
  const channel = channelOf(jobs);
  const table = jobLimits && tableName(jobLimits);

  async function withTable<Answer>(work: (limits: TableName) => Promise<Answer>): Promise<Answer> {
    if (!table) throw tableNotGiven(limitsTable);
    return work(table).catch((error: unknown) => {
      throw isTableFault(error) ? tableNotThere(limitsTable, error) : error;
    });
  }

  return {
    async pause(tx: Executor, what: unknown) {
      assertUsable(tx);
      const { scope, name } = namedIn('pause(…)', what, ['queue', 'kind']);
      if (scope === 'queue') queueOf(registry, name);
      else kindOf(registry, name);
      return answerOf(
        await withTable((limits) => pause(tx, limits, channel, scope, names(registry, scope, name))),
      );
    },

    async resume(tx: Executor, what: unknown) {
      assertUsable(tx);
      // Not only those of the registry: what was dropped while it was paused would stay so for ever.
      const { scope, name } = namedIn('resume(…)', what, ['queue', 'kind', 'pausedAt']);
      return answerOf(
        await withTable((limits) => resume(tx, limits, channel, scope, names(registry, scope, name))),
      );
    },

    async paused(db: Executor) {
      assertExecutor(db);
      const { pauses } = await withTable((limits) => findPauses(db, limits));
      return asOfToday(registry, pauses);
    },
  } satisfies { readonly [Name in keyof Pauses<AnyRegistry, Executor>]: unknown };
}

const limitsTable = { name: 'job_limits', exported: 'jobLimits', feature: '`queue.pause`' };

function answerOf(changed: number): PauseAnswer {
  return { result: changed > 0 ? 'done' : 'unchanged' };
}

/** The one that is named: `{ queue }` or `{ kind }`. */
function namedIn(
  call: string,
  given: unknown,
  keys: readonly string[],
): { readonly scope: PauseScope; readonly name: string } {
  checkKeys(call, given, keys);
  const { queue, kind } = given as { readonly queue?: unknown; readonly kind?: unknown };
  if ((queue === undefined) === (kind === undefined)) {
    throw invalidOption(call, '{ queue } or { kind }', given);
  }
  const [scope, name] = queue === undefined ? (['kind', kind] as const) : (['queue', queue] as const);
  checkName(scope, name);
  return { scope, name: String(name) };
}

/** Of a kind all that it may be called, which is what workers of another release may know it by. */
function names(registry: AnyRegistry, scope: PauseScope, name: string): readonly string[] {
  return scope === 'queue' ? [name] : namesOf(registry.kinds, nameToday(registry, name));
}

/** An alias stands for its kind. */
function nameToday(registry: AnyRegistry, name: string): string {
  return kindOfAlias(registry.kinds, name) ?? name;
}

/** Each kind once, by the name of the registry; the earliest of its pauses counts. */
function asOfToday(registry: AnyRegistry, pauses: readonly StoredPause[]): readonly object[] {
  const found = new Map<string, object>();
  for (const { scope, name, pausedAt } of pauses) {
    const today = scope === 'queue' ? name : nameToday(registry, name);
    const key = `${scope} ${today}`;
    if (!found.has(key)) found.set(key, { [scope]: today, pausedAt });
  }
  return [...found.values()];
}
