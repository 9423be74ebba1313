/**
 * Keeps the worker's session: a connection of its own whose lock shows the others that this process lives. When Postgres
 * lets go of that lock, they rescue its jobs within seconds instead of after `rescueAfterMs`.
 *
 * A session that was lost while the process lives must not look like a death. So for as long as the worker lacks the
 * session it had, its heartbeats come at once and every half second, and a rescuer that sees one stands back.
 */
import { createHash } from 'node:crypto';
import type { Session } from '../database/session.js';
import { withTimeLimit } from '../database/time-limit.js';
import { backendPid, type SessionLock, takeSessionLock, useOwnDefaults } from '../sql/sessions.js';
import { type Alarm, createAlarm } from './alarm.js';
import { createRetryGap } from './gap.js';

/** How long a session may take to answer; one that takes longer counts as lost. */
const sessionAnswerMs = 2_000;
/** After this long without its session, the worker counts on everybody having forgotten it. */
const lackingMs = 60_000;

interface SessionKeeperOptions {
  readonly lock: SessionLock;
  /** Undefined on a driver that has no sessions: then nothing is done. */
  readonly open: (() => Promise<Session>) | undefined;
  /** The connections are straight to Postgres, without a pooler between. */
  direct(): void;
  /** They are not. */
  pooled(): void;
  /** Whether the lock, which the session holds, is seen in the database that the worker works on. */
  isSameDatabase(): Promise<boolean>;
  /** What is done with a session while it lasts; `over` becomes true, and the alarm rings, when it is gone. */
  use(session: Session, life: { over(): boolean; readonly alarm: Alarm }): Promise<void>;
  /** There is none, or it broke. */
  failed(error: unknown, retryInMs: number): void;
  /** The session was lost, and the worker lives. */
  lost(): void;
}

export interface SessionKeeper {
  /** Runs until stopped, or until it is plain that there is no session to be had. */
  run(): Promise<void>;
  /** Whether others have seen a session of this worker that is gone now. */
  lacking(): boolean;
  stop(): void;
}

export function createSessionKeeper({
  lock,
  open,
  direct,
  pooled,
  isSameDatabase,
  use,
  failed,
  lost,
}: SessionKeeperOptions): SessionKeeper {
  const alarm = createAlarm();
  const retryGap = createRetryGap();
  let current: Session | undefined;
  let lackingSince: number | undefined;
  let had = false;
  let stopped = false;

  /** Whether there may be another session after this one. */
  async function keepOne(openSession: () => Promise<Session>): Promise<boolean> {
    const session = await openSession();
    current = session;
    let gone = false;
    void session.lost.then(() => {
      gone = true;
      alarm.wake();
    });
    try {
      if (stopped) return false;
      // Behind a pooler, connections belong to others between statements: a lock would stay on one of them. It tells of
      // a process id of its own making when a connection is made.
      if ((await answered(backendPid(session))) !== session.pid) {
        pooled();
        return false;
      }
      had = true;
      direct();
      await answered(useOwnDefaults(session));
      // Of a connection that broke, Postgres may not have heard yet: it keeps the lock until then.
      while (!(await answered(takeSessionLock(session, lock)))) {
        await alarm.sleep(500);
        if (gone || stopped) return true;
      }
      if (!(await isSameDatabase())) return false;
      lackingSince = undefined;
      retryGap.reset();
      await use(session, { over: () => gone || stopped, alarm });
      return true;
    } finally {
      if (had && !stopped) {
        lackingSince ??= performance.now();
        lost();
      }
      current = undefined;
      session.end();
    }
  }

  return {
    async run() {
      if (!open) return;
      for (let more = true; more && !stopped; ) {
        const fault = await keepOne(open).then(
          (again) => {
            more = again;
            return undefined;
          },
          (error: unknown) => ({ error }),
        );
        if (!more || stopped) return;
        const retryInMs = retryGap.next();
        if (fault) failed(fault.error, retryInMs);
        await alarm.sleep(retryInMs);
      }
    },
    lacking: () => lackingSince !== undefined && performance.now() - lackingSince < lackingMs,
    stop() {
      stopped = true;
      current?.end();
      alarm.wake();
    },
  };
}

/** An answer of the session, or `STATEMENT_TIMEOUT`. */
export function answered<T>(promise: Promise<T>): Promise<T> {
  return withTimeLimit(promise, sessionAnswerMs);
}

/** The lock of a worker among those of a table, by their full names. */
export function lockOf(table: string, worker: string): SessionLock {
  return { group: numberOfGroup(table), key: keyOf(worker) };
}

/** Of the random part that a worker's name ends in. */
function keyOf(worker: string): number {
  return Number.parseInt(worker.slice(-keyLength), 16);
}

const keyLength = 8;

/** What the name of a worker with this key ends in. */
export function endingOf(key: number): string {
  return key.toString(16).padStart(keyLength, '0');
}

function numberOfGroup(table: string): number {
  return createHash('sha256').update(`drizzle-queue ${table}`).digest().readUInt32BE();
}
