/**
 * What a kind's `retry` may answer, and what becomes of the attempt when its answer is no use.
 */
import { expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

type Retry = () => number | false | undefined;

async function failOnce(retry: Retry) {
  const { add, seen, worker } = await startTask(
    () => {
      throw new Error('no luck');
    },
    { retry },
  );
  const id = await add(1);
  await until(() => seen.failed.length + seen.discarded.length, { what: 'the end of the attempt' });
  await worker.stop();
  return { retryInMs: seen.failed[0]?.retryInMs, job: await row(database.sql, id), seen };
}

it('false discards at once', async () => {
  const { retryInMs, job } = await failOnce(() => false);
  expect(job).toMatchObject({
    state: 'discarded',
    attempts: 1,
    lastError: expect.stringContaining('no luck'),
  });
  expect(retryInMs).toBeUndefined();
});

it('a number of ms is the delay', async () => {
  const { retryInMs, job } = await failOnce(() => 500_000);
  expect(job).toMatchObject({ state: 'available', attempts: 1 });
  expect(retryInMs).toBeCloseTo(500_000, -3);
});

it('it is told the error, the attempt and the payload', async () => {
  const told: unknown[][] = [];
  const error = new Error('no luck');
  const { add, seen } = await startTask(
    () => {
      throw error;
    },
    {
      maxAttempts: 2,
      retry: (...given) => {
        told.push(given);
        return 0;
      },
    },
  );
  await add(7);
  await until(() => seen.discarded.length, { what: 'both attempts' });
  expect(told).toEqual([
    [error, 1, { n: 7 }],
    [error, 2, { n: 7 }],
  ]);
});

it('Infinity is the longest delay there is', async () => {
  const { job, retryInMs } = await failOnce(() => Number.POSITIVE_INFINITY);
  expect(job).toMatchObject({ state: 'available', attempts: 1 });
  expect(retryInMs).toBeCloseTo(100 * 365 * 24 * 3600 * 1000, -4);
});

/** Plain JavaScript answers what the compiler would refuse. */
const useless: Record<string, () => unknown> = {
  NaN: () => Number.NaN,
  'a negative number': () => -5,
  'the text "10"': () => '10',
  true: () => true,
  null: () => null,
  'a bigint': () => 10n,
  'a Promise': () => Promise.resolve(0),
  'a Promise that rejects': () => Promise.reject(new Error('nobody waits for this')),
  'a revoked Proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  'an error it throws': () => {
    throw new Error('retry is broken');
  },
};
it('undefined is the usual backoff', async () => {
  const { retryInMs, seen } = await failOnce(() => undefined);
  expect(retryInMs).toBeGreaterThan(900);
  expect(retryInMs).toBeLessThanOrEqual(2_000);
  expect(seen.error).toEqual([]);
});

it.each(Object.keys(useless))('%s means the usual backoff, and is told as an error', async (name) => {
  const { retryInMs, job, seen } = await failOnce(useless[name] as Retry);
  expect(job).toMatchObject({
    state: 'available',
    attempts: 1,
    lastError: expect.stringContaining('no luck'),
  });
  expect(retryInMs).toBeGreaterThan(900);
  expect(retryInMs).toBeLessThanOrEqual(2_000);
  expect(seen.error).toMatchObject([{ during: 'retry', retryInMs: null }]);
});
