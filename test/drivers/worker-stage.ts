/** A quick worker for the kind `task` of the conformance tests, with its events written down. */
import type { Database } from '../../src/index.js';
import {
  createWorker,
  type Handler,
  type Worker,
  type WorkerEvents,
  type WorkerOptions,
} from '../../src/worker.js';
import { registry } from './app.js';

type Kinds = (typeof registry)['kinds'];
type TaskOptions = Partial<WorkerOptions<Kinds, 'tasks', 'task'>>;
export type TaskHandler = Handler<Kinds['task']['$payload'], void, 'task'>;

export type Seen = { [Name in keyof WorkerEvents]?: WorkerEvents[Name][] };

/** A worker at work. */
export async function startWorker(
  { db }: { readonly db: Database },
  handler: TaskHandler,
  options: TaskOptions = {},
): Promise<{ readonly worker: Worker; readonly seen: Seen }> {
  const worker = createWorker({
    db,
    registry,
    queues: { tasks: 3 },
    kinds: ['task'],
    heartbeatMs: 100,
    pollIntervalMs: 20,
    graceMs: 5_000,
    log: false,
    handlers: { task: handler },
    ...options,
  });
  const seen = record(worker);
  await worker.start();
  return { worker, seen };
}

/** Does something while the worker is at work, and stops it. */
export async function withWorker(
  used: { readonly db: Database },
  handler: TaskHandler,
  work: (seen: Seen, worker: Worker) => Promise<void>,
  options: TaskOptions = {},
): Promise<Seen> {
  const { worker, seen } = await startWorker(used, handler, options);
  try {
    await work(seen, worker);
  } finally {
    await worker.stop();
  }
  return seen;
}

const names = [
  'started',
  'paused',
  'resumed',
  'claimed',
  'completed',
  'failed',
  'discarded',
  'snoozed',
  'released',
  'rescued',
  'lost',
  'unknown',
  'error',
  'stopping',
  'stopped',
] as const satisfies readonly (keyof WorkerEvents)[];

function record({ on }: Worker): Seen {
  const seen: Seen = {};
  const keep = <Name extends keyof WorkerEvents>(name: Name) =>
    on(name, (event) => {
      const events: WorkerEvents[Name][] = seen[name] ?? [];
      Object.assign(seen, { [name]: [...events, event] });
    });
  for (const name of names) keep(name);
  return seen;
}
