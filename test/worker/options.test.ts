/**
 * A worker's options: every wrong one is refused before any SQL, with what was expected and what was given.
 */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterAll, describe, expect, it } from 'vitest';
import { job } from '../../src/registry/job.js';
import { defineJobs } from '../../src/registry/registry.js';
import { QueueError } from '../../src/words/errors.js';
import { createWorker } from '../../src/worker/worker.js';

/** Nobody listens there: any SQL would fail otherwise than the options do. */
const client = postgres('postgres://nobody@127.0.0.1:1/none');
afterAll(() => client.end());

const db = drizzle({ client });
const registry = defineJobs({
  sendReceipt: job<{ orderId: number }>().queue('mail'),
  sendDigest: job({ rescueAfterMs: 4_000 }).queue('mail'),
  reindex: job(),
});
const handlers = { sendReceipt: () => {}, sendDigest: () => {} };
const good = { db, registry, queues: { mail: 5 }, handlers, heartbeatMs: 2_000 };

/** As plain JavaScript calls it. */
function errorOf(options: unknown): QueueError {
  const untyped: (options: never) => unknown = createWorker;
  try {
    untyped(options as never);
  } catch (error) {
    if (error instanceof QueueError) return error;
    throw error;
  }
  throw new Error('These options were taken.');
}

it('good ones are taken', () => {
  expect(createWorker(good)).toMatchObject({ name: expect.any(String) });
});

describe('refused', () => {
  const numbers = [
    ['pollIntervalMs', 10, 3_600_000],
    ['heartbeatMs', 100, 600_000],
    ['graceMs', 0, 3_600_000],
  ] as const;
  it.each(numbers)('%s is a whole number from %d to %d', (option, from, to) => {
    for (const given of [from - 1, to + 1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '500', null, {}, 5n]) {
      const error = errorOf({ ...good, [option]: given });
      expect(error).toMatchObject({ code: 'INVALID_OPTION', data: { option } });
      expect(error.message).toMatch(
        new RegExp(`^Expected \`${option}\` to be a whole number from ${from} to ${to}, got .+\\.$`),
      );
    }
  });

  const cases: Record<string, [object, string, RegExp]> = {
    'an unknown option': [
      { pollIntervalMS: 5 },
      'INVALID_OPTION',
      /"pollIntervalMS".*Did you mean "pollIntervalMs"\?/,
    ],
    'an option of another library': [
      { concurrency: 5 },
      'INVALID_OPTION',
      /"concurrency".*Known are: db, directDb, registry/,
    ],
    'a `directDb` that is no database': [
      { directDb: 'postgres://localhost' },
      'INVALID_EXECUTOR',
      /as `directDb`.*got "postgres/,
    ],
    'a `directDb` without a connection of its own to be had': [
      { directDb: { execute: async () => [], transaction: async () => {} } },
      'INVALID_OPTION',
      /`directDb`.*postgres\.js, or on a Pool of node-postgres/,
    ],
    'no queues': [{ queues: {} }, 'INVALID_OPTION', /`queues`.*got an object/],
    'queues as a list': [{ queues: ['mail'] }, 'INVALID_OPTION', /`queues`.*got an array of 1/],
    'queues as a text': [{ queues: 'mail' }, 'INVALID_OPTION', /`queues`.*got "mail"/],
    'a queue with no slots': [
      { queues: { mail: 0 } },
      'INVALID_OPTION',
      /`queues\["mail"\]`.*1 to 10000, got 0/,
    ],
    'a queue with half a slot': [{ queues: { mail: 1.5 } }, 'INVALID_OPTION', /1 to 10000, got 1\.5/],
    'a queue with too many': [{ queues: { mail: 10_001 } }, 'INVALID_OPTION', /1 to 10000, got 10001/],
    'a mistyped queue': [{ queues: { mails: 5 } }, 'UNKNOWN_QUEUE', /"mails".*Did you mean "mail"\?/],
    'a missing handler': [
      { handlers: { sendReceipt() {} } },
      'MISSING_HANDLER',
      /no handler for "sendDigest"/,
    ],
    'a handler too many': [
      { handlers: { ...handlers, reindex() {} } },
      'UNKNOWN_HANDLER',
      /handler for "reindex"/,
    ],
    'a mistyped handler': [
      { handlers: { ...handlers, sendDigset() {} } },
      'UNKNOWN_HANDLER',
      /Did you mean "sendDigest"\?/,
    ],
    'a handler that is none': [
      { handlers: { ...handlers, sendDigest: 5 } },
      'INVALID_OPTION',
      /a function, got 5/,
    ],
    'no handlers': [{ handlers: undefined }, 'INVALID_OPTION', /`handlers`.*got undefined/],
    'no kinds': [{ kinds: [] }, 'INVALID_OPTION', /`kinds`.*at least one kind, got an array of 0/],
    'kinds as a text': [{ kinds: 'sendReceipt' }, 'INVALID_OPTION', /`kinds`.*got "sendReceipt"/],
    'a kind of another queue': [
      { kinds: ['reindex'] },
      'UNKNOWN_KIND',
      /"reindex".*no kind on the queues served/,
    ],
    'a mistyped kind': [{ kinds: ['sendReciept'] }, 'UNKNOWN_KIND', /Did you mean "sendReceipt"\?/],
    'no db': [{ db: undefined }, 'INVALID_EXECUTOR', /got undefined/],
    'a driver as db': [{ db: client }, 'INVALID_EXECUTOR', /got a function.*not the driver/],
    'a transaction as db': [
      { db: { execute() {}, transaction() {}, rollback() {} } },
      'INVALID_EXECUTOR',
      /a transaction/,
    ],
    'no registry': [{ registry: undefined }, 'INVALID_OPTION', /`registry`.*defineJobs\(…\).*got undefined/],
    'a registry without kinds': [{ registry: { kinds: null } }, 'INVALID_OPTION', /`registry`/],
    'a registry made by hand': [{ registry: { kinds: { task: {} } } }, 'INVALID_OPTION', /`registry`/],
    'tables that are none': [{ tables: {} }, 'INVALID_OPTION', /tables/],
    'a log that is none': [{ log: {} }, 'INVALID_OPTION', /`log\.info`.*a function, got undefined/],
    'log: true': [{ log: true }, 'INVALID_OPTION', /`log\.info`/],
    'log: null': [{ log: null }, 'INVALID_OPTION', /`log\.info`/],
    'heartbeats too slow for a kind': [
      { heartbeatMs: 2_001 },
      'INVALID_OPTION',
      /at most half of "sendDigest"'s rescueAfterMs \(4000\), got 2001/,
    ],
  };
  it.each(Object.keys(cases))('%s', (name) => {
    const [wrong, code, message] = cases[name] ?? [{}, '', /never/];
    const error = errorOf({ ...good, ...wrong });
    expect(error.message).toMatch(message);
    expect(error.code).toBe(code);
  });

  it.each([undefined, null, 5, [], () => {}])('%o instead of options', (options) => {
    expect(errorOf(options)).toMatchObject({ code: 'INVALID_OPTION' });
  });
});

it('heartbeats may be as slow as the kinds that are served allow', () => {
  const slow = {
    db,
    registry,
    queues: { mail: 1 },
    handlers: { sendReceipt: () => {} },
    kinds: ['sendReceipt'],
  } as const;
  expect(() => createWorker({ ...slow, heartbeatMs: 30_000 })).not.toThrow();
  expect(errorOf({ ...slow, heartbeatMs: 30_001 })).toMatchObject({ code: 'INVALID_OPTION' });
});

it('later changes to the given objects change nothing', () => {
  const queues = { mail: 5 };
  const worker = createWorker({ ...good, queues });
  queues.mail = 0;
  expect(Object.isFrozen(worker)).toBe(true);
});

it('two workers of one process never have one name', () => {
  expect(createWorker(good).name).not.toBe(createWorker(good).name);
});
