/** Workers, an app and a person at one table: what they know, beside the model, and the commands that they are made of. */
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import fc from 'fast-check';
import type { ClaimedId } from '../../src/words/outcome.js';
import { Model, type ModelJob } from './model.js';
import type { OpenTransaction } from './open-transaction.js';

export class Crowd extends Model {
  readonly #workers = [createWorker(), createWorker()];
  #claims = 0;

  worker(n: number): ModelWorker {
    const worker = this.#workers[n];
    if (!worker) throw new Error(`There is no worker ${n}.`);
    return worker;
  }

  /** The name of a new claim. */
  nextClaim(n: number): string {
    return `worker ${n}/${++this.#claims}`;
  }

  /** The names of all claims that brought jobs. */
  claims(): string[] {
    return [...new Set(this.#workers.flatMap(({ runs }) => runs.map(({ lockedBy }) => lockedBy)))];
  }

  /** The runs of a worker that it has not ended, or with `late` those that it has ended or lost. */
  runs(
    n: number,
    { late, picks }: { readonly late: boolean; readonly picks?: readonly number[] },
  ): ModelRun[] {
    const runs = this.worker(n).runs.filter((run) => (late ? run.ended || !this.has(run) : !run.ended));
    return picks ? several(runs, picks) : runs;
  }

  /** Different jobs that nobody holds: a statement of an app would wait for the others. */
  freeJobs(fits: (job: ModelJob) => boolean, picks?: readonly number[]): ModelJob[] {
    const free = [...this.jobs.values()].filter((job) => this.isFree(job) && fits(job));
    return picks ? several(free, picks) : free;
  }
}

interface ModelWorker {
  readonly runs: ModelRun[];
  /** What its last look for dead jobs found. */
  suspects: readonly ClaimedId[];
}

/** A run that a worker once claimed; it may have ended it, or lost it without knowing. */
export interface ModelRun extends ClaimedId {
  ended: boolean;
}

function createWorker(): ModelWorker {
  return { runs: [], suspects: [] };
}

export interface Real {
  readonly db: PostgresJsDatabase;
  readonly open: OpenTransaction;
}

export type Command = fc.AsyncCommand<Crowd, Real>;

/** `text` is how it reads in a counterexample; it is left out of a sequence where `check` says no. */
export function command(
  text: string,
  run: (crowd: Crowd, real: Real) => Promise<void>,
  check: (crowd: Crowd) => boolean = () => true,
): Command {
  return { run, check, toString: () => text };
}

export const anyWorker = fc.nat(1);
/** Which of the things at hand, some of them more than once. */
export const anyPicks = fc.array(fc.nat(), { minLength: 1, maxLength: 5 });

export const onePick = fc.tuple(fc.nat());

function several<Thing>(things: readonly Thing[], picks: readonly number[]): Thing[] {
  return [...new Set(picks.flatMap((pick) => things[pick % things.length] ?? []))];
}

export function idOf({ id, lockedBy }: ClaimedId): ClaimedId {
  return { id, lockedBy };
}

export function sorted<Answer extends ClaimedId>(answers: readonly Answer[]): Answer[] {
  return [...answers].sort((a, b) => a.id - b.id || a.lockedBy.localeCompare(b.lockedBy));
}

export function ascending(ids: readonly number[]): number[] {
  return [...ids].sort((a, b) => a - b);
}

export function show(value: unknown): string {
  return fc.stringify(value);
}
