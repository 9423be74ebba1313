/**
 * What a worker does at every heartbeat: renew its own jobs first, then rescue those of workers that died.
 *
 * The order matters: a process that stood still comes back with old heartbeats, and must not rescue its own jobs.
 * A job is rescued when two looks in a row found it dead: between them, a worker that lives has renewed what it could
 * not while it stood still, or while a handler's transaction held the row.
 */
import { isRowFault } from '../database/sqlstate.js';
import type { TableName } from '../database/table-name.js';
import type { ClaimedJob } from '../sql/claim.js';
import { deadSoonInMs } from '../sql/dead-soon.js';
import { type Heartbeat, heartbeat } from '../sql/heartbeat.js';
import { findDead, largestRescue, rescue } from '../sql/rescue.js';
import { databaseTimeS } from '../sql/session.js';
import { byClaim, type ClaimedId } from '../words/outcome.js';
import { createAlarm } from './alarm.js';
import { createBatchSize } from './batch-size.js';
import type { Events } from './events.js';
import { createRetryGap } from './gap.js';
import type { Statements } from './statements.js';

/** The most heartbeats in one statement. */
const largestHeartbeat = 1_000;
/** How soon a row is tried again that was held when its heartbeat came: it may be old when its holder lets it go. */
const busyAgainMs = 200;
/** How long a change is remembered whose job is not here: the answer of its claim may be on its way. */
const rememberedMs = 1_000;
/** How soon all are renewed again while the worker lacks the session that others have seen. */
const lackingAgainMs = 500;

export interface Upkeep {
  /** Runs until stopped; heartbeats go on while the worker drains, rescues do not. */
  run(): Promise<void>;
  /** Rows were changed: sees at once which of them are this worker's no more. */
  changed(ids: readonly number[]): void;
  /** The session was lost: renews all claims at once. */
  hurry(): void;
  stopRescuing(): void;
  /**
   * Looks for dead jobs now, which are rescued when they still are at a later round. In how many ms there will be some that
   * are not dead yet only since the server has just started; undefined where it knows of none.
   */
  suspect(): Promise<number | undefined>;
  /** How many jobs looked dead at the last look. */
  suspected(): number;
  stop(): void;
}

interface Held {
  /** Whether others may take this worker for dead, and its heartbeats have to show that it is not. */
  lacking(): boolean;
  /** Every job to keep alive. */
  claims(): readonly ClaimedJob[];
  /** `gone`: there is no row of that id any more. */
  lost(job: ClaimedJob, gone: boolean): void;
}

export function createUpkeep(
  statements: Statements,
  table: TableName,
  heartbeatMs: number,
  heartbeatLimitMs: number,
  events: Events,
  held: Held,
): Upkeep {
  const alarm = createAlarm();
  const retryGap = createRetryGap();
  const batchSize = createBatchSize(largestHeartbeat);
  /** Jobs that the last look found dead. */
  let suspects: readonly ClaimedId[] = [];
  /** Claims whose row somebody held at their last heartbeat. */
  let busy: readonly ClaimedJob[] = [];
  /** Claims whose row somebody has changed. */
  const changed = new Set<ClaimedJob>();
  /** Ids that were changed and are not here, each with the time until which it is remembered. */
  const changedElsewhere = new Map<number, number>();
  let rescuing = true;
  let stopped = false;

  /** Renews the claims and gives those whose row somebody held. */
  async function beat(claims: readonly ClaimedJob[]): Promise<ClaimedJob[]> {
    const busy: ClaimedJob[] = [];
    for (let from = 0; from < claims.length; ) {
      const part = claims.slice(from, from + batchSize.now());
      const pulseOf = byClaim(await renew(part));
      for (const job of part) {
        const pulse = pulseOf(job)?.pulse;
        if (pulse === 'lost' || pulse === 'gone') held.lost(job, pulse === 'gone');
        if (pulse === 'busy') busy.push(job);
      }
      from += part.length;
    }
    return busy;
  }

  async function renew(part: readonly ClaimedId[]): Promise<readonly Heartbeat[]> {
    try {
      const pulses = await inParts(part, 'heartbeat', (some) =>
        statements.send((db) => heartbeat(db, table, some), { limitMs: heartbeatLimitMs }),
      );
      batchSize.succeeded();
      return pulses;
    } catch (error) {
      batchSize.failed(error);
      throw error;
    }
  }

  /** One bad row may fail itself, never the others: where the rows are at fault, the halves are sent. */
  async function inParts<Answer>(
    claims: readonly ClaimedId[],
    during: 'heartbeat' | 'rescue',
    send: (claims: readonly ClaimedId[]) => Promise<Answer[]>,
  ): Promise<Answer[]> {
    try {
      return await send(claims);
    } catch (error) {
      if (!isRowFault(error)) throw error;
      if (claims.length > 1) {
        const middle = Math.ceil(claims.length / 2);
        const first = await inParts(claims.slice(0, middle), during, send);
        return [...first, ...(await inParts(claims.slice(middle), during, send))];
      }
      events.emit('error', { error, during, retryInMs: heartbeatMs });
      return [];
    }
  }

  async function rescueAll(): Promise<void> {
    if (suspects.length > 0) await rescueSuspects();
    suspects = await statements.send((db) => findDead(db, table));
  }

  async function rescueSuspects(): Promise<void> {
    const notAfterS = (await statements.send(databaseTimeS)) + heartbeatMs / 1_000;
    // After an outage everybody's heartbeats are old: live workers get the time to renew theirs first. Looked at after
    // the statement above, which may have waited in the driver until the outage was over.
    if (statements.unbrokenForMs() < 2 * heartbeatMs) return;
    const rescued = await inParts(suspects, 'rescue', (among) =>
      statements.send((db) => rescue(db, table, { among, notAfterS })),
    );
    for (const job of rescued) events.emit('rescued', job);
  }

  /** The ms until the next round. */
  async function round(): Promise<number> {
    const began = performance.now();
    let during: 'heartbeat' | 'rescue' = 'heartbeat';
    try {
      busy = await beat(held.claims());
      during = 'rescue';
      if (rescuing) await rescueAll();
      retryGap.reset();
    } catch (error) {
      const retryInMs = Math.min(retryGap.next(), heartbeatMs);
      events.emit('error', { error, during, retryInMs });
      return retryInMs;
    }
    // With many suspects the next round comes sooner: the rest of the dead are behind them.
    const roundMs = suspects.length === largestRescue ? heartbeatMs / 4 : heartbeatMs;
    return Math.max(0, roundMs - (performance.now() - began));
  }

  /** Sleeps until the next round; what cannot wait for it is renewed meanwhile. */
  async function rest(ms: number): Promise<void> {
    const until = performance.now() + ms;
    for (let leftMs = ms; !stopped && leftMs > 0; leftMs = until - performance.now()) {
      await alarm.sleep(Math.min(leftMs, againMs()));
      if (stopped || performance.now() >= until) return;
      lookForChanged();
      // A failure is told by the next round, if it lasts.
      const these = [...changed];
      changed.clear();
      if (these.length > 0) busy = [...busy, ...(await beat(these).catch(() => these))];
      if (held.lacking()) busy = await beat(held.claims()).catch(() => busy);
      else if (busy.length > 0) busy = await beat(busy).catch(() => []);
    }
  }

  /** Claims whose answer has come since are renewed, or found to be lost. */
  function lookForChanged(): void {
    if (changedElsewhere.size === 0) return;
    for (const claim of held.claims()) if (changedElsewhere.delete(claim.id)) changed.add(claim);
    const now = performance.now();
    for (const [id, until] of changedElsewhere) if (until < now) changedElsewhere.delete(id);
  }

  function againMs(): number {
    if (changed.size > 0) return 0;
    if (busy.length > 0 || changedElsewhere.size > 0) return busyAgainMs;
    return held.lacking() ? lackingAgainMs : Number.POSITIVE_INFINITY;
  }

  return {
    async run() {
      // Workers that start together, after a deploy, do not beat together.
      let gapMs = heartbeatMs * (0.5 + Math.random() / 2);
      while (!stopped) {
        await rest(gapMs);
        if (!stopped) gapMs = await round();
      }
    },
    changed(ids) {
      const asked = new Set(ids);
      for (const claim of held.claims()) if (asked.delete(claim.id)) changed.add(claim);
      const until = performance.now() + rememberedMs;
      for (const id of asked) changedElsewhere.set(id, until);
      alarm.wake();
    },
    hurry() {
      alarm.wake();
    },
    stopRescuing() {
      rescuing = false;
    },
    async suspect() {
      suspects = await statements.send((db) => findDead(db, table));
      return statements.send((db) => deadSoonInMs(db, table));
    },
    suspected: () => suspects.length,
    stop() {
      stopped = true;
      alarm.wake();
    },
  };
}
