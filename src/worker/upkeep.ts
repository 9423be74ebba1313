/**
 * What a worker does at every heartbeat: renew its own jobs first, then rescue those of workers that died.
 *
 * The order matters: a process that stood still comes back with old heartbeats, and must not rescue its own jobs.
 */
import type { TableName } from '../database/table-name.js';
import { heartbeat } from '../sql/heartbeat.js';
import { largestRescue, rescue } from '../sql/rescue.js';
import { databaseTimeS } from '../sql/session.js';
import type { ClaimedId } from '../words/outcome.js';
import { createAlarm } from './alarm.js';
import type { Events } from './events.js';
import { createRetryPause } from './pause.js';
import type { Statements } from './statements.js';

/** The most heartbeats in one statement. */
const largestHeartbeat = 1_000;

export interface Upkeep {
  /** Runs until stopped; heartbeats go on while the worker drains, rescues do not. */
  run(): Promise<void>;
  stopRescuing(): void;
  stop(): void;
}

interface Held {
  /** Every claim to keep alive. */
  claims(): readonly ClaimedId[];
  lost(claim: ClaimedId): void;
}

export function createUpkeep(
  statements: Statements,
  table: TableName,
  heartbeatMs: number,
  events: Events,
  held: Held,
): Upkeep {
  const alarm = createAlarm();
  const retryPause = createRetryPause();
  let rescuing = true;
  let stopped = false;

  async function beat(): Promise<void> {
    const claims = held.claims();
    for (let from = 0; from < claims.length; from += largestHeartbeat) {
      const part = claims.slice(from, from + largestHeartbeat);
      const pulses = await statements.send((db) => heartbeat(db, table, part));
      for (const pulse of pulses) if (pulse.pulse === 'lost') held.lost(pulse);
    }
  }

  async function rescueAll(): Promise<void> {
    const notAfterS = (await statements.send(databaseTimeS)) + heartbeatMs / 1_000;
    // After an outage everybody's heartbeats are old: live workers get the time to renew theirs first. Looked at after
    // the statement above, which may have waited in the driver until the outage was over.
    if (statements.unbrokenForMs() < 2 * heartbeatMs) return;
    const until = performance.now() + heartbeatMs / 2; // own heartbeats must not wait for a long list of the dead
    let found = largestRescue;
    while (found === largestRescue && rescuing && performance.now() < until) {
      const rescued = await statements.send((db) => rescue(db, table, notAfterS));
      for (const job of rescued) events.emit('rescued', job);
      found = rescued.length;
    }
  }

  /** The ms until the next round. */
  async function round(): Promise<number> {
    const began = performance.now();
    let during: 'heartbeat' | 'rescue' = 'heartbeat';
    try {
      await beat();
      during = 'rescue';
      if (rescuing) await rescueAll();
      retryPause.reset();
    } catch (error) {
      const retryInMs = Math.min(retryPause.next(), heartbeatMs);
      events.emit('error', { error, during, retryInMs });
      return retryInMs;
    }
    return Math.max(0, heartbeatMs - (performance.now() - began));
  }

  return {
    async run() {
      // Workers that start together, after a deploy, do not beat together.
      let pauseMs = heartbeatMs * (0.5 + Math.random() / 2);
      while (!stopped) {
        await alarm.sleep(pauseMs);
        if (!stopped) pauseMs = await round();
      }
    },
    stopRescuing() {
      rescuing = false;
    },
    stop() {
      stopped = true;
      alarm.wake();
    },
  };
}
