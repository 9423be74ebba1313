/** Jobs of the kind `greet` in the states that the tests of the statements begin with. */
import { sql } from 'drizzle-orm';
import { type ClaimedJob, claim } from '../../src/sql/claim.js';
import { type RescuedJob, rescue } from '../../src/sql/rescue.js';
import { until } from '../support/until.js';
import { queue, table } from './app.js';
import type { UsedDriver } from './stage.js';

/** Enqueues so many and gives their ids. */
export async function greet({ db }: UsedDriver, count: number): Promise<number[]> {
  const list = Array.from({ length: count }, () => ({ kind: 'greet', payload: {} }) as const);
  return (await queue.enqueueMany(db, list)).map(({ id }) => id);
}

export async function claimGreet(
  { db }: UsedDriver,
  n: number,
  lockedBy: string,
): Promise<readonly ClaimedJob[]> {
  return (await claim(db, table, { want: new Map([['default', n]]), kinds: ['greet'], lockedBy })).jobs;
}

/** Puts the heartbeats of all running jobs into the past and rescues them. */
export async function rescueDead({ db, read }: UsedDriver): Promise<RescuedJob[]> {
  await read(sql`update jobs set heartbeat_at = now() - interval '1 hour' where state = 'running'`);
  let rescued: RescuedJob[] = [];
  // Nothing is rescued before the server has run for as long as a job may go without a heartbeat, here a second.
  await until(
    async () => {
      rescued = await rescue(db, table);
      return rescued.length > 0;
    },
    { what: 'the server to have run for a second' },
  );
  return rescued;
}
