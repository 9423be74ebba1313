/**
 * Workers for the tests of this folder: quick ones, with their events written down, stopped after each test.
 * Nearly all tests need one kind only: `task`, with a number to tell its jobs apart.
 */
import { afterEach } from 'vitest';
import type { Database } from '../../src/database/executor.js';
import { jobs } from '../../src/database/tables.js';
import type { EnqueueOptions } from '../../src/queue/enqueue-options.js';
import { createQueue } from '../../src/queue/queue.js';
import type { Handler } from '../../src/registry/handlers.js';
import { type JobOptions, job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import type { WorkerEvents } from '../../src/worker/events.js';
import { createWorker, type Worker } from '../../src/worker/worker.js';
import type { UsedDatabase } from '../support/database.js';

export type Task = { n: number };
export type TaskHandler = Handler<Task, void, 'task'>;

export type TaskOptions = JobOptions<Task> & {
  slots?: number;
  heartbeatMs?: number;
  pollIntervalMs?: number;
  graceMs?: number;
  /** @default the test file's database, through postgres.js */
  db?: Database;
  /** The app gave the jobs table alone. */
  withoutThrottles?: boolean;
};

export type Seen = { [Name in keyof WorkerEvents]: WorkerEvents[Name][] };

export type TaskWorker = {
  worker: Worker;
  seen: Seen;
  /** Enqueues one `task` and gives its id. */
  add(n: number, options?: EnqueueOptions): Promise<number>;
};

/** Call it at the top of a test file; the jobs of a test are gone before the next one. */
export function useWorkers(database: Pick<UsedDatabase, 'db' | 'sql'>) {
  let workers: Worker[] = [];
  afterEach(async () => {
    const these = workers;
    workers = [];
    await Promise.all(these.map((worker) => worker.stop({ graceMs: 0 })));
    await database.sql`truncate jobs`;
  });

  /** Has the worker stopped after the test, and writes its events down. */
  function watch(worker: Worker): Seen {
    workers.push(worker);
    return record(worker);
  }

  /** A worker for `task` that is not started. */
  function taskWorker(handler: TaskHandler, options: TaskOptions = {}): TaskWorker {
    const { slots = 10, heartbeatMs = 100, pollIntervalMs = 20, graceMs = 5_000, db, ...more } = options;
    const { withoutThrottles = false, ...kind } = more;
    const registry = defineJobs({ task: job<Task>(kind) });
    const queue = createQueue(registry);
    const worker = createWorker({
      db: db ?? database.db,
      registry,
      queues: { default: slots },
      handlers: { task: handler },
      heartbeatMs,
      pollIntervalMs,
      graceMs,
      ...(withoutThrottles ? { tables: { jobs } } : {}),
      log: false,
    });
    const add = async (n: number, enqueueOptions?: EnqueueOptions) => {
      const { id } = await queue.enqueue(database.db, 'task', { n }, enqueueOptions);
      return id;
    };
    return { worker, seen: watch(worker), add };
  }

  return {
    watch,
    taskWorker,
    /** A worker for `task` at work. */
    async startTask(handler: TaskHandler, options: TaskOptions = {}): Promise<TaskWorker> {
      const made = taskWorker(handler, options);
      await made.worker.start();
      return made;
    },
  };
}

function record({ on }: Worker): Seen {
  const seen: Seen = {
    started: [],
    problem: [],
    listening: [],
    paused: [],
    resumed: [],
    claimed: [],
    completed: [],
    failed: [],
    discarded: [],
    snoozed: [],
    released: [],
    rescued: [],
    lost: [],
    unknown: [],
    error: [],
    stopping: [],
    stopped: [],
  };
  const keep = <Name extends keyof WorkerEvents>(name: Name) => on(name, (event) => seen[name].push(event));
  for (const name of Object.keys(seen) as (keyof WorkerEvents)[]) keep(name);
  return seen;
}
