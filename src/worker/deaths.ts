/**
 * Finds workers whose process ended, by their session locks, and has their jobs rescued.
 *
 * A lock that is free proves little by itself: a live worker's connection can break. So a worker counts as dead when
 * this one has seen its lock held, then free at every look for two seconds, over one unbroken session of its own (a
 * restart of Postgres breaks all), and none of its claims has given a sign of life meanwhile.
 */
import type { Session } from '../database/session.js';
import type { TableName } from '../database/table-name.js';
import { largestRescue, rescueEnded } from '../sql/rescue.js';
import {
  claimsOfWorkers,
  lookAtSessions,
  type SessionLock,
  type SessionsLook,
  type WorkerClaims,
} from '../sql/sessions.js';
import type { Alarm } from './alarm.js';
import type { Events } from './events.js';
import { answered, endingOf } from './session.js';
import type { Statements } from './statements.js';

/** The time between two looks: while a lock is missing, while jobs run, and while none does. */
const lookMs = { missing: 500, running: 1_000, idle: 2_000 };
/** How long a lock must have been free, in at least so many looks. */
const freeForMs = 2_000;
const freeLooks = 4;
/** After a look, its rescue may take so long: one that waits through a restart knows nothing of the time after it. */
const actWithinS = 2;
/** A worker without a session that gives signs of life for so long is left to the limit of its heartbeats. */
const forgetAfterMs = 30_000;

interface Missing {
  /** When it was first found free; the start of all waiting. */
  readonly since: number;
  /** What its claims looked like, and since when; begins anew with every sign of life. */
  evidence: { readonly workers: readonly WorkerClaims[]; readonly since: number; looks: number };
}

/** Looks until the session is gone; `rescuing` says whether jobs may be rescued. */
export async function watchDeaths(
  session: Session,
  lock: SessionLock,
  {
    statements,
    table,
    channel,
    limits,
    events,
    alarm,
    over,
    rescuing,
    looked,
  }: {
    readonly statements: Statements;
    readonly table: TableName;
    readonly channel: string;
    /** The table of what is paused, where it can be read. */
    limits(): TableName | undefined;
    readonly events: Events;
    readonly alarm: Alarm;
    over(): boolean;
    rescuing(): boolean;
    /** Told of each look. */
    looked(look: SessionsLook): Promise<void>;
  },
): Promise<void> {
  /** Keys of other workers whose lock was seen held. */
  const seen = new Set<number>();
  const missing = new Map<number, Missing>();

  async function gather(key: number): Promise<readonly WorkerClaims[]> {
    return answered(claimsOfWorkers(session, table, endingOf(key)));
  }

  async function suspect(key: number, atS: number): Promise<void> {
    const now = performance.now();
    const known = missing.get(key);
    if (!known) {
      const workers = await gather(key);
      if (workers.length === 0)
        forget(key); // nothing of it is running
      else missing.set(key, { since: now, evidence: { workers, since: now, looks: 1 } });
      return;
    }
    known.evidence.looks++;
    if (now - known.evidence.since < freeForMs || known.evidence.looks < freeLooks) return;
    let left = false;
    for (const worker of known.evidence.workers) {
      const rescued = rescuing()
        ? await statements.send((db) =>
            rescueEnded(db, table, {
              ...worker,
              lock: { group: lock.group, key },
              notAfterS: atS + actWithinS,
            }),
          )
        : [];
      for (const job of rescued) events.emit('rescued', job);
      left ||= rescued.length === largestRescue;
    }
    if (left) return; // the rest with the next look
    const workers = await gather(key);
    if (workers.length === 0 || now - known.since > forgetAfterMs) forget(key);
    else known.evidence = { workers, since: performance.now(), looks: 1 };
  }

  function forget(key: number): void {
    seen.delete(key);
    missing.delete(key);
  }

  while (!over()) {
    const look = await answered(lookAtSessions(session, table, lock.group, channel, limits()));
    await looked(look);
    const { held, running, atS } = look;
    for (const key of held.keys()) {
      if (key !== lock.key) seen.add(key);
      missing.delete(key);
    }
    for (const key of seen) if (!held.has(key)) await suspect(key, atS);
    const pauseMs = running ? lookMs.running : lookMs.idle;
    // Many workers share the looking: together they look as often.
    await alarm.sleep(missing.size > 0 ? lookMs.missing : pauseMs * Math.max(1, held.size / 10));
  }
}
