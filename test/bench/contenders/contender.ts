/**
 * What a queue has to do to be measured. Each contender lives in a process of its own and is told what to do by
 * `process/commands.ts`; what it cannot do it leaves out.
 */
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';

export type Settings = Readonly<Record<string, string | number | boolean>>;

/** A transaction of an app that uses Drizzle over postgres.js. */
export type AppTransaction = Parameters<Parameters<PostgresJsDatabase['transaction']>[0]>[0];

export interface FillOptions {
  /** Higher is more urgent, whatever the contender's own numbers are. @default 0 */
  readonly priority?: number | undefined;
  /** @default 0 */
  readonly delayMs?: number | undefined;
  /** Spread over so many queues. @default one, of another name */
  readonly queues?: number | undefined;
}

export interface WorkListener {
  /** A handler was called, with the number of its job and of its worker, from 0; takes as long as the answer. */
  job(n: number, worker?: number): void | Promise<void>;
  /** A claim brought so many jobs; undefined where the contender does not tell what it took. */
  claimed(tookMs: number | undefined, jobs: number): void;
  /** The worker tells of an error of its own, not of a job's. */
  failed?(): void;
}

export interface Working {
  stop(): Promise<void>;
}

export interface Contender {
  /** What it runs with, for the report. */
  readonly settings: Settings;
  /** A part of the text of every claim it sends, and of no other statement. */
  readonly claimText?: string;
  /** Makes its tables in an empty database. */
  prepare(): Promise<void>;
  /** Enqueues no-op jobs as fast as it can, numbered from 0. */
  fill?(jobs: number, options: FillOptions): Promise<void>;
  /** Starts to work; resolves when it would take a job. */
  work?(listener: WorkListener): Promise<Working>;
  /** Whether any job that is due is not finished, by what the database says. */
  unfinished?(): Promise<boolean>;
  /** Claims so many jobs and finishes them; gives what the claim took, in ms. For those whose worker tells no claims. */
  claimOnce?(jobs: number): Promise<number>;
  /** Enqueues a job in an open transaction of the app. */
  enqueueIn?(tx: AppTransaction, n: number): Promise<void>;
  /** Enqueues jobs with these numbers at once, in an open transaction of the app. */
  enqueueManyIn?(tx: AppTransaction, numbers: readonly number[]): Promise<void>;
  /** Enqueues a job by itself: for those who cannot join a transaction. */
  enqueue?(n: number): Promise<void>;
  end(): Promise<void>;
}

/** Lists of at most so many jobs each, as numbers of jobs. */
export function* parts(jobs: number, most: number): Generator<number[]> {
  for (let from = 0; from < jobs; from += most) {
    yield Array.from({ length: Math.min(most, jobs - from) }, (_, i) => from + i);
  }
}
