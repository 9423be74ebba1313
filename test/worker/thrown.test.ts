/**
 * Whatever a handler throws is recorded as text, counts as a failed attempt, and harms nothing else.
 */
import { expect, it } from 'vitest';
import { Discard } from '../../src/worker/discard.js';
import { useDatabase } from '../support/database.js';
import { row } from '../support/jobs.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

const secret = 'Bearer s3cret';

const things: Record<string, { make: () => unknown; text: string }> = {
  'an Error': { make: () => new TypeError('no luck'), text: 'TypeError: no luck' },
  null: { make: () => null, text: 'null' },
  undefined: { make: () => undefined, text: 'undefined' },
  'a text': { make: () => 'no luck', text: 'no luck' },
  'an empty text': { make: () => '', text: 'an empty string' },
  'a Symbol': { make: () => Symbol('luck'), text: 'Symbol(luck)' },
  'a bigint': { make: () => 1n, text: '1n' },
  'a function': { make: () => () => {}, text: 'a function' },
  'an object without prototype': { make: () => Object.create(null), text: 'an object' },
  'a revoked Proxy': { make: revokedProxy, text: 'an object' },
  'a Proxy whose every trap throws': { make: hostileProxy, text: 'an object' },
  'an Error with getters that throw': { make: hostileError, text: 'Error' },
  'an Error with circles, a secret and its request': { make: httpError, text: 'status 500' },
  'an Error whose cause is itself': { make: ownCause, text: 'circle' },
  'an Error with NUL everywhere': { make: () => odd('a\0b'), text: 'a\ufffdb' },
  'an Error with half a pair everywhere': { make: () => odd('a\ud83d'), text: 'a\ufffd' },
  '50 MB of text': { make: () => new Error('x'.repeat(50_000_000)), text: '(cut)' },
};

it.each(Object.keys(things))(
  '%s is recorded, tried again and discarded at the last attempt',
  async (name) => {
    const { make, text } = things[name] ?? { make: () => undefined, text: '' };
    const { add, seen, worker } = await startTask(
      ({ n }) => {
        if (n === 1) throw make();
      },
      { retry: () => 0 },
    );

    const [bad] = await Promise.all([add(1, { maxAttempts: 2 }), add(2), add(3)]);
    await until(() => seen.discarded.length && seen.completed.length === 2, {
      what: 'all three jobs to end',
    });
    await worker.stop();

    const job = await row(database.sql, bad);
    expect(job).toMatchObject({ state: 'discarded', attempts: 2, lastError: expect.stringContaining(text) });
    expect(job?.errors).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
    expect(JSON.stringify(job)).not.toContain(secret);
    expect(JSON.stringify(job).length).toBeLessThan(20_000);
    expect(seen.failed).toHaveLength(1);
    expect(seen.error).toEqual([]);
  },
);

it('a Discard thrown deep below the handler ends the job at its first attempt', async () => {
  const deep = async (): Promise<never> => {
    throw new Discard('no such address', { cause: new Error('422') });
  };
  const { add, seen } = await startTask(async () => {
    await Promise.all([deep(), Promise.resolve()]);
  });

  const id = await add(1);
  await until(() => seen.discarded.length, { what: 'the discard' });

  const job = await row(database.sql, id);
  expect(job).toMatchObject({ state: 'discarded', attempts: 1 });
  expect(job?.lastError).toMatch(/^Discard: no such address/);
  expect(job?.lastError).toContain('Caused by: Error: 422');
});

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function hostileProxy(): object {
  const refuse = (): never => {
    throw new Error('do not touch');
  };
  return new Proxy({}, { get: refuse, getPrototypeOf: refuse, has: refuse, ownKeys: refuse });
}

function hostileError(): Error {
  const get = (): never => {
    throw new Error('do not read');
  };
  const properties = { name: { get }, message: { get }, stack: { get }, cause: { get } };
  return Object.defineProperties(new Error('hidden'), properties);
}

/** What an HTTP client throws. */
function httpError(): Error {
  const error = new Error('status 500');
  const config = { headers: { authorization: secret } };
  return Object.assign(error, { config, request: { error }, response: { config, request: { error } } });
}

function ownCause(): Error {
  const error = new Error('circle');
  error.cause = Object.assign(new Error('back'), { cause: error });
  return error;
}

function odd(text: string): Error {
  return Object.assign(new Error(text, { cause: new Error(text) }), { name: text, stack: text });
}
