/** `createWorker`: the life of a worker, from its start to its stop. What it does meanwhile is in `parts.ts`. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { guardTransactions } from '../database/lost-transactions.js';
import { watchPool } from '../database/pool-errors.js';
import { outsideTransactions } from '../database/transaction-storages.js';
import type { KindsOn } from '../registry/handlers.js';
import type { JobTypes } from '../registry/registry.js';
import { checkKeys, wholeNumber } from '../words/checks.js';
import { QueueError } from '../words/errors.js';
import { checkWorkerOptions } from './check-options.js';
import { createDeadline } from './deadline.js';
import { createEvents, type Events } from './events.js';
import { logEvents } from './log.js';
import type { Settings, WorkerOptions } from './options.js';
import { createParts } from './parts.js';
import { beginOnce, type Once, type RunOnceOptions, type RunOnceResult, reserveMs } from './run-once.js';
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
   * Rejects with `WORKER_STOPPED` after a stop, and with `WORKER_BUSY` during a `runOnce()`.
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
  /**
   * For hosts that run code only while they answer a request, and in place of `start()`: claims what is due, runs it, also
   * what these jobs enqueue, rescues jobs of workers that died, and resolves when nothing is left to do or the budget is
   * over. What still runs then is aborted and given back, as by `stop()`. Takes connections of the pool only, and leaves
   * nothing behind. Claims have names of their own in each call, other than {@link name}.
   *
   * May be called again and again; a call while another is under way gives the promise of that one. Failed attempts are
   * in the answer and in events.
   *
   * Rejects with `WORKER_BUSY` after `start()`, `WORKER_STOPPED` after `stop()`, `INVALID_OPTION`, and with what the
   * database threw where it was not to be reached in all that time.
   */
  runOnce(options?: RunOnceOptions): Promise<RunOnceResult>;
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
  const name = newName();
  const events = createEvents();
  if (settings.log) logEvents(events, settings.log);
  const parts = createParts(settings, name, events);
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  let once: Once | undefined;
  let claimed = Promise.resolve();
  let unwatchPool = (): void => {};
  let unguardTransactions = (): void => {};
  const grace = createDeadline();

  // Both promises are there before the first event is emitted: listeners may call start() and stop() themselves.
  async function start(): Promise<void> {
    if (stopped) throw stoppedBefore();
    if (once) throw busy('runOnce() is under way');
    started ??= outsideTransactions(() => Promise.resolve().then(begin));
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
    void parts.paused.run();
    void parts.throttles.run();
  }

  function stop(options: { readonly graceMs?: number | undefined } = {}): Promise<void> {
    try {
      checkKeys('stop(…)', options, ['graceMs']);
      const { graceMs = settings.graceMs } = options;
      grace.within(wholeNumber('graceMs', graceMs, 0, 3_600_000));
      once?.stop(graceMs);
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
    await once?.result.catch(() => {}); // its caller has it
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

  async function runOnce(options: RunOnceOptions = {}): Promise<RunOnceResult> {
    checkKeys('runOnce(…)', options, ['budgetMs']);
    const { budgetMs = 10_000 } = options;
    wholeNumber('budgetMs', budgetMs, reserveMs + 1_000, 3_600_000);
    if (stopped) throw stoppedBefore();
    if (started) throw busy('it was started');
    if (once) return once.result;
    once = outsideTransactions(() => beginOnce(settings, newName(), events, budgetMs));
    try {
      return await once.result;
    } finally {
      once = undefined;
    }
  }

  return Object.freeze({ name, on: events.on, start, stop, run, runOnce });
}

/** Never the same: two containers may share host name and process id, and a shared name would void the fence. */
function newName(): string {
  return `${hostname().slice(0, 64)}-${process.pid}-${randomBytes(5).toString('hex')}`;
}

function stoppedBefore(): QueueError {
  return new QueueError('WORKER_STOPPED', 'This worker was stopped; make a new one with createWorker(…).');
}

function busy(why: string): QueueError {
  return new QueueError('WORKER_BUSY', `A worker works by start() or by runOnce(), not by both: ${why}.`);
}
