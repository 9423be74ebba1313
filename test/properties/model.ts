/**
 * The jobs table as it should behave, in plain objects: what each move answers and what it leaves behind. Written from
 * the words of the design, not from the SQL.
 */
import type { ClaimRequest } from '../../src/sql/claim.js';
import type { Finished } from '../../src/sql/finished.js';
import type { ClaimedId, Kept, Outcome } from '../../src/words/outcome.js';
import type { State } from '../../src/words/states.js';
import type { Finish } from '../support/finish.js';

/** A day of the past, the earlier the more urgent; or never, as long as nobody lets time pass. */
export type RunAt = 1 | 2 | 3 | 'now' | 'later';

export interface ModelJob {
  readonly id: number;
  readonly queue: string;
  readonly kind: string;
  readonly priority: number;
  readonly maxAttempts: number;
  state: State;
  attempts: number;
  runAt: RunAt;
  lockedBy: string | null;
  /** Its worker has given no sign of life for longer than its limit. */
  silent: boolean;
  lastError: string | null;
  /** As JSON text. */
  result: string | null;
  /** The latest ten, as attempt and text. */
  errors: readonly (readonly [number, string])[];
}

export type NewModelJob = Pick<ModelJob, 'queue' | 'kind' | 'priority' | 'maxAttempts' | 'runAt'>;

export class Model {
  readonly jobs = new Map<number, ModelJob>();
  /** The row that an open transaction holds, and how it has completed it. */
  held: { readonly id: number; readonly completed?: Kept | 'deleted' } | undefined;

  add(id: number, job: NewModelJob): void {
    const fresh = { attempts: 0, lockedBy: null, silent: false, lastError: null, result: null, errors: [] };
    this.jobs.set(id, { id, ...job, state: 'available', ...fresh });
  }

  /** The jobs that are due, in the order in which they should start. */
  claim({ want, kinds, lockedBy }: ClaimRequest): (ModelJob & ClaimedId)[] {
    const taken = [...want].flatMap(([queue, n]) =>
      [...this.jobs.values()]
        .filter((job) => job.state === 'available' && job.queue === queue && kinds.includes(job.kind))
        .filter((job) => job.runAt !== 'later' && this.isFree(job))
        .sort((a, b) => b.priority - a.priority || rank(a.runAt) - rank(b.runAt) || a.id - b.id)
        .slice(0, n),
    );
    return taken.map((job) =>
      Object.assign(job, { state: 'running', attempts: job.attempts + 1, lockedBy, silent: false } as const),
    );
  }

  heartbeat(claim: ClaimedId): 'ours' | 'busy' | 'lost' | 'gone' {
    const job = this.jobs.get(claim.id);
    if (!job || job.state === 'completed') return 'gone';
    if (!isRunOf(job, claim)) return 'lost';
    if (!this.isFree(job)) return 'busy';
    job.silent = false;
    return 'ours';
  }

  /** The ends of one statement: each is judged by what was there before any of them. */
  finish(finishes: readonly Finish[]) {
    const judged = finishes.map((one) => ({ ...one, job: this.jobs.get(one.id) }));
    const results = judged.map(({ job, ...one }) => this.resultOf(job, one));
    return judged.map(({ id, lockedBy, job, outcome }, at) => {
      const result = results[at];
      const done = result === 'done' && job !== undefined;
      if (done) this.end(job, outcome);
      return { id, lockedBy, result, state: done && this.jobs.has(id) ? job.state : null };
    });
  }

  private resultOf(job: ModelJob | undefined, claim: ClaimedId): Finished['result'] {
    if (!job || job.state === 'completed') return 'gone';
    if (!isRunOf(job, claim)) return 'lost';
    return this.isFree(job) ? 'done' : 'busy';
  }

  /** Whether the transaction may end the job; then it holds the row. */
  completeIn(claim: ClaimedId, kept: Kept | undefined): boolean {
    const job = this.jobs.get(claim.id);
    if (!job || !isRunOf(job, claim)) return false;
    this.held = { id: job.id, completed: kept ?? 'deleted' };
    return true;
  }

  /** The end of the open transaction. */
  letGo(how: 'commit' | 'rollback'): void {
    const { id, completed } = this.held ?? {};
    if (id !== undefined && completed && how === 'commit') {
      this.complete(this.get(id), completed === 'deleted' ? undefined : completed);
    }
    this.held = undefined;
  }

  dead(): ClaimedId[] {
    return [...this.jobs.values()].flatMap((job) =>
      job.silent && job.lockedBy !== null && this.isFree(job) ? [{ id: job.id, lockedBy: job.lockedBy }] : [],
    );
  }

  /** What was rescued, from which claim, and where it is now. */
  rescue(among: readonly ClaimedId[] | undefined) {
    const isAmong = (one: ClaimedId) =>
      among?.some((it) => it.id === one.id && it.lockedBy === one.lockedBy) ?? true;
    return this.dead()
      .filter(isAmong)
      .map(({ id, lockedBy }) => {
        const job = this.get(id);
        const why = `rescued: no heartbeat for more than 1 s from ${lockedBy}`;
        this.fail(job, why);
        return { id, queue: job.queue, kind: job.kind, state: job.state, lockedBy };
      });
  }

  release(claims: readonly string[]): number[] {
    const released = [...this.jobs.values()].filter(
      (job) => job.lockedBy !== null && claims.includes(job.lockedBy) && this.isFree(job),
    );
    for (const job of released) this.leave(job, 'available', { attemptBack: true });
    return released.map(({ id }) => id);
  }

  private end(job: ModelJob, outcome: Outcome): void {
    switch (outcome.move) {
      case 'complete':
        this.complete(job, outcome.kept);
        break;
      case 'fail':
        this.fail(job, String(outcome.error), outcome.delayMs === 0 ? 'now' : 'later');
        break;
      case 'discard':
        job.lastError = String(outcome.error);
        note(job, String(outcome.error));
        this.leave(job, 'discarded');
        break;
      case 'snooze':
        job.runAt = snoozedUntil(outcome.when);
        this.leave(job, 'available', { attemptBack: true });
        break;
      case 'release':
        if (outcome.started) note(job, 'the worker was stopped while the handler ran');
        // A stop never uses up the last attempt; but beyond it there is one more start only.
        if (outcome.started && job.attempts > job.maxAttempts) this.leave(job, 'discarded');
        else this.leave(job, 'available', { attemptBack: !outcome.started });
    }
  }

  private complete(job: ModelJob, kept: Kept | undefined): void {
    if (!kept) return void this.jobs.delete(job.id);
    job.result = kept.result ?? null;
    this.leave(job, 'completed');
  }

  private fail(job: ModelJob, error: string, runAt: RunAt = 'later'): void {
    note(job, error);
    job.lastError = error;
    job.runAt = runAt;
    this.leave(job, job.attempts < job.maxAttempts ? 'available' : 'discarded');
  }

  private leave(job: ModelJob, state: State, { attemptBack = false } = {}): void {
    const attempts = attemptBack ? Math.max(0, job.attempts - 1) : job.attempts;
    Object.assign(job, { state, attempts, lockedBy: null, silent: false });
  }

  /** Whether the job is this run's. */
  has(claim: ClaimedId): boolean {
    const job = this.jobs.get(claim.id);
    return job !== undefined && isRunOf(job, claim);
  }

  isFree({ id }: ModelJob): boolean {
    return this.held?.id !== id;
  }

  private get(id: number): ModelJob {
    const job = this.jobs.get(id);
    if (!job) throw new Error(`The model has no job ${id}.`);
    return job;
  }
}

const ranks = { 1: 1, 2: 2, 3: 3, now: 4, later: 5 };

function rank(runAt: RunAt): number {
  return ranks[runAt];
}

function isRunOf(job: ModelJob, claim: ClaimedId): boolean {
  return job.state === 'running' && job.lockedBy === claim.lockedBy;
}

function note(job: ModelJob, error: string): void {
  job.errors = [...job.errors, [job.attempts, error] as const].slice(-10);
}

function snoozedUntil(when: { readonly delayMs: number } | { readonly runAt: string }): RunAt {
  if ('delayMs' in when) return when.delayMs === 0 ? 'now' : 'later';
  return dayOf(when.runAt);
}

/** `2020-01-02T…` is 2. */
export function dayOf(instant: string): RunAt {
  const day = Number(instant.slice(8, 10));
  return instant.startsWith('2020') && (day === 1 || day === 2 || day === 3) ? day : 'later';
}

export function instantOf(runAt: RunAt): string {
  return typeof runAt === 'number' ? `2020-01-0${runAt}T00:00:00.000Z` : '2100-01-01T00:00:00.000Z';
}
