/**
 * The connection of its own that a worker has beside the pool, and what it is for: the lock that shows others that this
 * process lives, a look whether theirs do, and LISTEN.
 *
 * PGlite has one connection and one process, so there it only listens.
 */
import { clientOf, isPGlite, type PGlite } from '../database/client.js';
import { type Session, sessionOpener } from '../database/session.js';
import { channelOf, tableKey } from '../database/table-name.js';
import { listen, notify } from '../sql/notify.js';
import { isLockHeld, type SessionsLook } from '../sql/sessions.js';
import { createCrew, queueBits } from './crew.js';
import { watchDeaths } from './deaths.js';
import type { Events } from './events.js';
import type { Settings } from './options.js';
import { differentDatabase, notListening } from './problems.js';
import { answered, createSessionKeeper, lockOf } from './session.js';
import type { Statements } from './statements.js';
import { createWakeUps, type Ear, lookers } from './wake-ups.js';

export interface Listening {
  /** Runs until stopped, or until it is plain that there is no such connection. */
  run(): Promise<void>;
  stop(): void;
  /** Whether others may take this worker for dead. */
  lacking(): boolean;
  /** A look took all it had room for, after a pause: has another worker look whether there is more. */
  passOn(queue: string): void;
  /** Whether this worker, of all that serve the queue, looks for the job that falls due at this time. */
  isMeant(queue: string, dueUs: number): boolean;
}

interface ListeningOptions {
  readonly settings: Settings;
  readonly worker: string;
  readonly statements: Statements;
  readonly events: Events;
  /** There may be jobs in this queue, or in any; or `later`, which a look tells. */
  look(queue: string | undefined, what: 'work' | 'later'): void;
  /** Rows were changed. */
  changed(ids: readonly number[]): void;
  /** The session was lost, and the worker lives. */
  lost(): void;
  /** Whether jobs may be rescued. */
  rescuing(): boolean;
}

export function createListening(options: ListeningOptions): Listening {
  const { settings, worker, statements, events } = options;
  const { table, directDb } = settings;
  const channel = channelOf(settings.jobs);
  const lock = lockOf(tableKey(settings.jobs), worker);
  const crew = createCrew(lock.key);
  const wakeUps = createWakeUps({
    worker,
    slots: settings.slots,
    crew,
    look: options.look,
    changed: options.changed,
  });
  const opener = sessionOpener(directDb ?? settings.db);
  const client = clientOf(settings.db);
  const pglite = isPGlite(client) ? client : undefined;
  let endPGlite = async (): Promise<void> => {};
  let told = false;

  function tellNotListening(why: string): void {
    if (!told) events.emit('problem', notListening(why));
    told = true;
  }

  async function begin(ear: Ear): Promise<void> {
    if (await wakeUps.begin(ear)) events.emit('listening', { channel });
    else tellNotListening('Notifications do not reach it');
  }

  async function looked(session: Session, { held, listening }: SessionsLook): Promise<void> {
    crew.saw(held);
    if (listening) return;
    // Not waited for: a standby refuses it, until it is one no more; and the next look asks again.
    begin({
      listen: () => answered(listen(session, channel)),
      tell: (text) => notify(session, { channel, texts: [text] }),
    }).catch(() => {});
  }

  async function beginOnPGlite(client: PGlite): Promise<void> {
    await begin({
      async listen() {
        endPGlite = await client.listen(channel, wakeUps.hear);
      },
      tell: (text) => statements.send((db) => notify(db, { channel, texts: [text] })),
    });
  }

  const keeper = createSessionKeeper({
    lock,
    queues: queueBits(settings.slots.keys()),
    open: opener,
    direct() {
      if (!directDb) statements.useNames(); // else nothing is known of the connections of `db`
    },
    pooled: () => tellNotListening('Its connections belong to a pooler such as PgBouncer'),
    async isSameDatabase() {
      if (!directDb || (await statements.send((db) => isLockHeld(db, lock)))) return true;
      events.emit('problem', differentDatabase());
      return false;
    },
    async use(session, life) {
      session.onNotification((on, text) => {
        if (on === channel) wakeUps.hear(text);
      });
      try {
        await watchDeaths(session, lock, {
          statements,
          table,
          channel,
          events,
          ...life,
          rescuing: options.rescuing,
          looked: (look) => looked(session, look),
        });
      } finally {
        wakeUps.end();
      }
    },
    lost: options.lost,
  });

  return {
    async run() {
      if (pglite) {
        await beginOnPGlite(pglite).catch((error) =>
          events.emit('error', { error, during: 'listen', retryInMs: null }),
        );
      } else if (opener) await keeper.run();
      else tellNotListening('Its driver has no connection to listen on');
    },
    stop() {
      keeper.stop();
      endPGlite().catch(() => {});
    },
    lacking: keeper.lacking,
    passOn: wakeUps.passOn,
    isMeant: (queue, dueUs) => crew.isMeant(queue, lookers, dueUs),
  };
}
