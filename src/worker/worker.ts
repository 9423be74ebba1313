/** `createWorker`: the life of a worker, from its start to its stop. What it does meanwhile is in `parts.ts`. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { guardTransactions } from '../database/lost-transactions.js';
import { watchPool } from '../database/pool-errors.js';
import type { KindsOn } from '../registry/handlers.js';
import type { JobTypes } from '../registry/registry.js';
import { wholeNumber } from '../words/checks.js';
import { QueueError } from '../words/errors.js';
import { checkWorkerOptions } from './check-options.js';
import { createDeadline } from './deadline.js';
import { createEvents, type Events } from './events.js';
import { logEvents } from './log.js';
import type { Settings, WorkerOptions } from './options.js';
import { createParts } from './parts.js';
import { countSignals } from './signals.js';
import { stopParts } from './stop.js';

/** Claims and runs jobs, from a start to a stop; it is not started twice. */
export interface Worker {
  /** The name its claims begin with: host, process and a random part. */
  readonly name: string;
  /** Calls the listener at each such event, until the returned function is called. */
  readonly on: Events['on'];
  /**
   * Begins to work. Does not wait for the database: while that is away, the worker tries again. What the database lacks
   * is a `problem` each, as soon as it answers (`checkSchema` tells the same beforehand).
   * Rejects with `WORKER_STOPPED` after a stop.
   */
  start(): Promise<void>;
  /**
   * Claims nothing more, lets running jobs end within the grace, then aborts their signals and gives them back.
   * Resolves within the grace and 2 s, whatever the database does. Leaves the app's pool open.
   * A second call gives the same promise; with a shorter grace it shortens the first.
   */
  stop(options?: { readonly graceMs?: number | undefined }): Promise<void>;
  /** Works until SIGTERM or SIGINT, then stops. A second signal ends the grace. */
  run(): Promise<void>;
}

/**
 * Makes a worker for some queues of a registry.
 *
 * @throws QueueError `INVALID_OPTION`, `INVALID_EXECUTOR`, `UNKNOWN_QUEUE`, `UNKNOWN_KIND`, `MISSING_HANDLER`,
 * `UNKNOWN_HANDLER`
 */
export function createWorker<
  Kinds extends JobTypes,
  const Queue extends Kinds[keyof Kinds]['$queue'],
  const Kind extends KindsOn<Kinds, Queue> = KindsOn<Kinds, Queue>,
>(options: WorkerOptions<Kinds, Queue, Kind>): Worker {
  return workerOf(checkWorkerOptions(options));
}

function workerOf(settings: Settings): Worker {
  // The random part: two containers may share host name and process id, and a shared name would void the fence.
  const name = `${hostname().slice(0, 64)}-${process.pid}-${randomBytes(5).toString('hex')}`;
  const events = createEvents();
  if (settings.log) logEvents(events, settings.log);
  const parts = createParts(settings, name, events);
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  let claimed = Promise.resolve();
  let unwatchPool = (): void => {};
  let unguardTransactions = (): void => {};
  const grace = createDeadline();

  // Both promises are there before the first event is emitted: listeners may call start() and stop() themselves.
  async function start(): Promise<void> {
    if (stopped) {
      throw new QueueError('WORKER_STOPPED', 'This worker was stopped; make a new one with createWorker(…).');
    }
    started ??= Promise.resolve().then(begin);
    return started;
  }

  function begin(): void {
    unwatchPool = watchPool(settings.db, (error) =>
      events.emit('error', { error, during: 'connection', retryInMs: null }),
    );
    unguardTransactions = guardTransactions(settings.db);
    events.emit('started', { worker: name });
    claimed = parts.loop.run();
    void parts.upkeep.run();
    void parts.listening.run();
    void parts.schemaCheck.run();
  }

  function stop({
    graceMs = settings.graceMs,
  }: {
    readonly graceMs?: number | undefined;
  } = {}): Promise<void> {
    try {
      grace.within(wholeNumber('graceMs', graceMs, 0, 3_600_000));
    } catch (error) {
      return Promise.reject(error); // not thrown: who calls stop() awaits it
    }
    stopped ??= Promise.resolve().then(end);
    return stopped;
  }

  async function end(): Promise<void> {
    if (started) {
      await started;
      await stopParts(parts, events, claimed, grace);
    }
    grace.cancel();
    unwatchPool();
    unguardTransactions();
  }

  async function run(): Promise<void> {
    const unlisten = countSignals((count) => void stop(count > 1 ? { graceMs: 0 } : {}));
    try {
      await start();
      await new Promise<void>((resolve) => events.on('stopped', () => resolve()));
      await stopped;
    } finally {
      unlisten();
    }
  }

  return Object.freeze({ name, on: events.on, start, stop, run });
}
