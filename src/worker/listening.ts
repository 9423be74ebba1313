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
import { isLockHeld, type SessionsLook, tellQueues, untellQueues } from '../sql/sessions.js';
import { laterNotice, type Notice, noticeText } from '../words/notice.js';
import { createCrew, toldQueues } from './crew.js';
import { atMost } from './deadline.js';
import { watchDeaths } from './deaths.js';
import type { Events } from './events.js';
import type { Settings } from './options.js';
import type { Paused } from './paused.js';
import { differentDatabase, notListening } from './problems.js';
import { answered, createSessionKeeper, lockOf } from './session.js';
import type { Statements } from './statements.js';
import { createWakeUps, type Ear, lookers } from './wake-ups.js';

/** The last notifications may take so long, and are about so many queues. */
const farewellMs = 200;
const mostFarewells = 50;

export interface Listening {
  /** Runs until stopped, or until it is plain that there is no such connection. */
  run(): Promise<void>;
  /** The worker stops: others are not to count on it from now on. */
  leave(): void;
  /** Has others look for what it leaves behind, and ends. */
  stop(): Promise<void>;
  /** A job falls due, now or later: whoever serves the queue looks when. */
  fallsDue(queue: string): void;
  /** Whether others may take this worker for dead. */
  lacking(): boolean;
  /** A look took all it had room for, after a gap: has another worker look whether there is more. */
  passOn(queue: string): void;
  /** Whether this worker, of all that serve the queue, looks for the job that falls due at this time. */
  isMeant(queue: string, dueUs: number): boolean;
}

interface ListeningOptions {
  readonly settings: Settings;
  readonly worker: string;
  readonly statements: Statements;
  readonly events: Events;
  hasRoom(queue: string): boolean;
  /** There may be jobs in this queue, or in any; or `later`, which a look tells. */
  look(queue: string | undefined, what: 'work' | 'later'): void;
  /** There is this job in the queue. */
  lookFor(queue: string, id: number): void;
  /** Rows were changed. */
  changed(ids: readonly number[]): void;
  readonly paused: Pick<Paused, 'known' | 'heard' | 'table' | 'looked' | 'ended'>;
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
  const queues = [...settings.slots.keys()];
  const told = toldQueues(queues, settings.servesAllKinds);
  const { hasRoom, look, lookFor, changed, paused } = options;
  const wakeUps = createWakeUps({
    key: lock.key,
    queues: () => (left ? [] : told),
    slots: settings.slots,
    crew,
    hasRoom,
    look,
    lookFor,
    changed,
    pauses: paused.heard,
  });
  const opener = sessionOpener(directDb ?? settings.db);
  const client = clientOf(settings.db);
  const pglite = isPGlite(client) ? client : undefined;
  let endPGlite = async (): Promise<void> => {};
  let current: Session | undefined;
  let left = false;
  let hasComplained = false;

  function tellNotListening(why: string): void {
    if (!hasComplained) events.emit('problem', notListening(why));
    hasComplained = true;
  }

  const textsOf = (notices: readonly Notice[]) => ({ channel, texts: notices.map(noticeText) });

  async function begin(ear: Ear): Promise<void> {
    await paused.known(); // until then, nothing is claimed that it would hear of
    if (await wakeUps.begin(ear)) events.emit('listening', { channel });
    else tellNotListening('Notifications do not reach it');
  }

  async function looked(session: Session, { held, listening, pauses }: SessionsLook): Promise<void> {
    crew.saw(held);
    paused.looked(listening, pauses);
    if (listening) return;
    // Not waited for: a standby refuses it, until it is one no more; and the next look asks again.
    begin({
      listen: () => answered(listen(session, channel)),
      tell: (notices) => notify(session, textsOf(notices)),
    }).catch(() => {});
  }

  async function beginOnPGlite(client: PGlite): Promise<void> {
    await begin({
      async listen() {
        endPGlite = await client.listen(channel, wakeUps.hear);
      },
      tell: (notices) => statements.send((db) => notify(db, textsOf(notices))),
    });
  }

  const keeper = createSessionKeeper({
    lock,
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
    failed(error, retryInMs) {
      // Of `db` the worker's own statements tell.
      if (directDb) events.emit('error', { error, during: 'listen', retryInMs });
    },
    async use(session, life) {
      current = session;
      if (!left) await answered(tellQueues(session, lock.group, told));
      session.onNotification((on, text) => {
        if (on === channel) wakeUps.hear(text);
      });
      try {
        await watchDeaths(session, lock, {
          statements,
          table,
          channel,
          limits: paused.table,
          events,
          ...life,
          rescuing: options.rescuing,
          looked: (look) => looked(session, look),
        });
      } finally {
        current = undefined;
        wakeUps.end();
        paused.ended();
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
    leave() {
      left = true;
      if (current) untellQueues(current, lock.group, told).catch(() => {});
      void wakeUps.tell([{ type: 'left', key: lock.key }]);
    },
    async stop() {
      // What it gave back, and what falls due for which it would have looked.
      await atMost(farewellMs, wakeUps.tell(queues.slice(0, mostFarewells).map(laterNotice)));
      keeper.stop();
      endPGlite().catch(() => {});
    },
    fallsDue(queue) {
      if (settings.slots.has(queue)) look(queue, 'later');
      else void wakeUps.tell([laterNotice(queue)]);
    },
    lacking: keeper.lacking,
    passOn: wakeUps.passOn,
    isMeant: (queue, dueUs) => crew.isMeant(queue, lookers, dueUs),
  };
}
