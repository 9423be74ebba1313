/** What a worker tells: typed events, and the one place that calls listeners. */
import type { SchemaProblem } from '../check/problem.js';
import { checkFunction } from '../words/checks.js';
import { invalidOption } from '../words/errors.js';
import type { FinishMove } from '../words/outcome.js';

/** A run of a job, as events name it. */
export interface JobInfo {
  readonly id: number;
  readonly queue: string;
  /** As the row has it: of a job from before a kind was renamed, its old name. */
  readonly kind: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  /** The claim: `<worker>/<n>`. */
  readonly lockedBy: string;
}

/** A queue, or a kind under the name that the registry has for it. */
export type PausedPart =
  | { readonly queue: string; readonly kind?: undefined }
  | { readonly kind: string; readonly queue?: undefined };

/** Events by name. Those about a job's end come when the end is written, not when the handler returns. */
export interface WorkerEvents {
  started: { readonly worker: string };
  /** The database or a connection lacks something; each is told once, after the start. */
  problem: SchemaProblem;
  /** From now on the worker is told of new jobs; again after each loss of the connection it listens on. */
  listening: { readonly channel: string };
  /** A queue that the worker serves, or a kind, is paused, or was already when it started; no job of it starts any more. */
  paused: PausedPart;
  /** It is not paused any more. */
  resumed: PausedPart;
  /** One claim that brought jobs. */
  claimed: { readonly jobs: readonly JobInfo[]; readonly durationMs: number };
  completed: { readonly job: JobInfo; readonly durationMs: number };
  /** An attempt failed and another follows. */
  failed: {
    readonly job: JobInfo;
    readonly error: unknown;
    readonly retryInMs: number;
    readonly durationMs: number;
  };
  /** The job is over without success: attempts used up, or the handler (or its `retry`) said so. */
  discarded: { readonly job: JobInfo; readonly error: unknown; readonly durationMs: number };
  snoozed: { readonly job: JobInfo; readonly dueInMs: number };
  /** Given back because the worker stops. */
  released: { readonly job: JobInfo; readonly started: boolean };
  /** A job of a worker that gave no sign of life, found by this one. */
  rescued: {
    readonly id: number;
    readonly queue: string;
    readonly kind: string;
    readonly state: string;
    readonly lockedBy: string;
  };
  /** The job is not this run's any more: rescued, moved by a person, or deleted. Whatever the handler does is ignored. */
  lost: { readonly job: JobInfo; readonly during: 'handler' | 'finish' };
  /** A finish was repeated because its answer was lost, and found no running row: it was written, or the job was lost. */
  unknown: { readonly job: JobInfo; readonly move: FinishMove };
  /** A statement or a connection failed; the worker goes on. `retryInMs` is null where nothing is to be repeated. */
  error: { readonly error: unknown; readonly during: Activity; readonly retryInMs: number | null };
  stopping: { readonly running: number };
  /** `unwritten` finishes could not be written in time; other workers will rescue those jobs. */
  stopped: { readonly unwritten: number };
}

/**
 * What was done when an error came. `handler`: thrown by a handler whose run had its outcome already (a committed
 * `complete(tx)`, a `snooze`), or a `snooze` or `discard` behind a committed `complete(tx)`. `retry`: a kind's `retry` threw, or its answer was none. `throttle`: rows of periods that are
 * over were to be deleted.
 */
export type Activity =
  | 'claim'
  | 'heartbeat'
  | 'finish'
  | 'rescue'
  | 'release'
  | 'listen'
  | 'check'
  | 'connection'
  | 'listener'
  | 'handler'
  | 'retry'
  | 'throttle';

/** A promise it returns is not waited for, also not by `stop()`; its rejection is an `error` event. */
export type Listener<Name extends keyof WorkerEvents> = (event: WorkerEvents[Name]) => void;

export interface Events {
  /**
   * Calls the listener at each such event until the returned function is called.
   *
   * @throws QueueError `INVALID_OPTION` for an event that does not exist
   */
  on<Name extends keyof WorkerEvents>(name: Name, listener: Listener<Name>): () => void;
  emit<Name extends keyof WorkerEvents>(name: Name, event: WorkerEvents[Name]): void;
  /** Whether anybody listens: what comes with each job is not made for nobody. */
  heard(name: keyof WorkerEvents): boolean;
}

const names: readonly (keyof WorkerEvents)[] = [
  'started',
  'problem',
  'listening',
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
];

export function createEvents(): Events {
  const listeners: { [Name in keyof WorkerEvents]?: Set<Listener<Name>> } = {};

  function of<Name extends keyof WorkerEvents>(name: Name): Set<Listener<Name>> {
    const known: Set<Listener<Name>> | undefined = listeners[name];
    if (known) return known;
    const fresh = new Set<Listener<Name>>();
    Object.assign(listeners, { [name]: fresh });
    return fresh;
  }

  function emit<Name extends keyof WorkerEvents>(name: Name, event: WorkerEvents[Name]): void {
    for (const listener of [...(listeners[name] ?? [])]) {
      const failed = (error: unknown): void => {
        // A fault in a listener is told once, and never to the listeners of errors about itself.
        if (name !== 'error') emit('error', { error, during: 'listener', retryInMs: null });
      };
      try {
        const answer: unknown = listener(event);
        if (answer instanceof Promise) answer.catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  }

  return {
    on(name, listener) {
      if (!names.includes(name)) throw invalidOption('event', `one of ${names.join(', ')}`, name);
      checkFunction('listener', listener);
      of(name).add(listener);
      return () => void of(name).delete(listener);
    },
    emit,
    heard: (name) => (listeners[name]?.size ?? 0) > 0,
  };
}
