/** Payloads of other releases: upgraded before the handler, failed by themselves, or left for newer workers. */
import { describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { checkWorkerOptions } from '../../src/worker/check-options.js';
import { createWorker } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';
import { given, row, verbatim } from '../support/jobs.js';
import { until } from '../support/until.js';
import { useWorkers } from './stage.js';

const database = useDatabase();
const { watch } = useWorkers(database);

interface V1 {
  user: string;
}
interface V2 {
  userId: number;
}
interface V3 {
  userId: number;
  locale: string;
}

/** Three releases of an app; the third has renamed the kind. */
const first = defineJobs({ mail: job<V1>(), ping: job() });
const second = defineJobs({ mail: job<V2>({ version: 2 }).upgradeFrom<V1>(1, toV2), ping: job() });
const third = defineJobs({
  sendMail: job<V3>({ version: 3 })
    .upgradeFrom<V2>(2, (old) => ({ ...old, locale: 'en' }))
    .upgradeFrom<V1>(1, toV2)
    .alias('mail'),
  ping: job(),
});

function toV2({ user }: V1): V2 {
  const userId = Number(user);
  if (Number.isNaN(userId)) throw new RangeError(`${user} is no id`);
  return { userId };
}

const common = { queues: { default: 5 }, pollIntervalMs: 20, heartbeatMs: 100, log: false } as const;

describe('a deploy', () => {
  it('runs what an older release has enqueued, in the shape of today, and leaves the row as it is until then', async () => {
    const { db } = database;
    const { id: one } = await createQueue(first).enqueue(db, 'mail', { user: '1' }, { priority: 2 });
    const { id: two } = await createQueue(second).enqueue(db, 'mail', { userId: 2 }, { priority: 1 });
    const { id: three } = await createQueue(third).enqueue(db, 'sendMail', { userId: 3, locale: 'de' });
    expect(await versions([one, two, three])).toEqual([1, 2, 3]);

    const ran: unknown[] = [];
    const sendMail = (payload: V3, { kind }: { kind: 'sendMail' }) => void ran.push({ kind, payload });
    const worker = createWorker({ ...common, db, registry: third, handlers: { sendMail, ping } });
    const seen = watch(worker);
    await worker.start();
    await until(() => seen.completed.length === 3, { what: 'the jobs of three releases' });

    expect(ran).toEqual([
      { kind: 'sendMail', payload: { userId: 1, locale: 'en' } },
      { kind: 'sendMail', payload: { userId: 2, locale: 'en' } },
      { kind: 'sendMail', payload: { userId: 3, locale: 'de' } },
    ]);
    // Events name rows as they are: so an operator sees when the alias has done its work.
    expect(seen.completed.map((event) => event.job.kind)).toEqual(['mail', 'mail', 'sendMail']);
  });

  it('leaves what a newer release has enqueued to it, and is not held up by that', async () => {
    const { db } = database;
    const { id } = await createQueue(second).enqueue(db, 'mail', { userId: 1 }, { priority: 9 });
    const renamed = await createQueue(third).enqueue(db, 'sendMail', { userId: 2, locale: 'de' });
    const before = await Promise.all([verbatim(database.sql, id), verbatim(database.sql, renamed.id)]);
    const old = createWorker({ ...common, db, registry: first, handlers: { mail: unreachable, ping } });
    const seen = watch(old);
    await old.start();
    await createQueue(first).enqueue(db, 'ping');
    await createQueue(first).enqueue(db, 'ping');
    await until(() => seen.completed.length === 2, { what: 'both jobs behind it' });
    expect(await Promise.all([verbatim(database.sql, id), verbatim(database.sql, renamed.id)])).toEqual(
      before,
    );

    // It has nothing to do now, and is told of a job by its id.
    const told = await createQueue(second).enqueue(db, 'mail', { userId: 3 });
    await createQueue(first).enqueue(db, 'ping');
    await until(() => seen.completed.length === 3, { what: 'a job after that' });
    expect(await row(database.sql, told.id)).toMatchObject({ state: 'available', attempts: 0 });

    const ran: V3[] = [];
    const sendMail = (payload: V3) => void ran.push(payload);
    const fresh = createWorker({ ...common, db, registry: third, handlers: { sendMail, ping } });
    watch(fresh);
    await fresh.start();
    await until(() => ran.length === 3, { what: 'the new release to run it' });
    expect(ran).toContainEqual({ userId: 3, locale: 'en' });
    expect(ran).toContainEqual({ userId: 1, locale: 'en' });
    expect(ran).toContainEqual({ userId: 2, locale: 'de' });
    expect(seen.error).toEqual([]);
  });

  it('that is rolled back leaves the jobs of the release that is gone, until it comes back', async () => {
    const { db } = database;
    await createQueue(second).enqueue(db, 'mail', { userId: 1 });
    const fails = createWorker({
      ...common,
      db,
      registry: second,
      handlers: {
        mail: () => {
          throw new Error('the new release is broken');
        },
        ping,
      },
    });
    const broken = watch(fails);
    await fails.start();
    await until(() => broken.failed.length, { what: 'an attempt' });
    await fails.stop();
    await database.sql`update jobs set run_at = now()`; // its backoff is over

    const old = createWorker({ ...common, db, registry: first, handlers: { mail: unreachable, ping } });
    const seen = watch(old);
    await old.start();
    await createQueue(first).enqueue(db, 'ping');
    await until(() => seen.completed.length, { what: 'a job behind it' });
    await old.stop();

    const mended = createWorker({ ...common, db, registry: second, handlers: { mail: () => {}, ping } });
    const again = watch(mended);
    await mended.start();
    await until(() => again.completed.length, { what: 'its second attempt' });
    expect(again.completed[0]?.job).toMatchObject({ kind: 'mail', attempt: 2 });
  });
});

describe('a payload that is not upgraded', () => {
  it('fails its own attempt, before handler and retry, and is retried after the usual backoff', async () => {
    const { available } = given(database.sql);
    const ids = [
      await available({ kind: 'mail', payload: { user: 'x' }, priority: 3 }),
      await available({ kind: 'mail', payload: { user: '2' }, priority: 2 }),
      await available({ kind: 'mail', payload: null, priority: 1 }),
      await available({ kind: 'mail', payload: { userId: 4 }, payloadVersion: 2 }),
    ];
    const ran: number[] = [];
    const retried: unknown[] = [];
    const registry = defineJobs({
      mail: job<V2>({ version: 2, retry: (...given) => void retried.push(given) }).upgradeFrom<V1>(1, toV2),
    });
    const mail = ({ userId }: V2) => void ran.push(userId);
    const worker = createWorker({ ...common, db: database.db, registry, handlers: { mail } });
    const seen = watch(worker);
    await worker.start();
    await until(() => seen.completed.length + seen.failed.length === 4, { what: 'all four' });
    await worker.stop();

    expect(ran).toEqual([2, 4]);
    expect(retried).toEqual([]);
    expect(seen.failed.map(({ error, job: { id } }) => ({ error, id }))).toEqual(
      [ids[0], ids[2]].map((id) => ({
        id,
        error: expect.objectContaining({
          code: 'PAYLOAD_NOT_UPGRADED',
          data: { kind: 'mail', version: 1, newest: 2 },
        }),
      })),
    );
    for (const { retryInMs } of seen.failed) expect(retryInMs).toBeLessThanOrEqual(2_000);
    expect(await row(database.sql, ids[0] ?? 0)).toMatchObject({
      state: 'available',
      attempts: 1,
      payload: { user: 'x' },
      payloadVersion: 1,
      lastError: expect.stringMatching(/version 1 to 2: RangeError: x is no id[\s\S]*Caused by: RangeError/),
      errors: [{ attempt: 1, error: expect.stringContaining('RangeError: x is no id') }],
    });
    expect(seen.error).toEqual([]);
  });

  it('is discarded with its last attempt, and runs by a replay once there is a step for it', async () => {
    const id = await given(database.sql).available({ kind: 'mail', payload: { user: '7' }, maxAttempts: 1 });
    const without = defineJobs({ mail: job<V2>({ version: 2 }) });
    const worker = createWorker({
      ...common,
      db: database.db,
      registry: without,
      handlers: { mail: unreachable },
    });
    const seen = watch(worker);
    await worker.start();
    await until(() => seen.discarded.length, { what: 'the discard' });
    await worker.stop();
    expect(seen.discarded[0]?.error).toMatchObject({
      code: 'PAYLOAD_NOT_UPGRADED',
      message: expect.stringContaining('the registry upgrades none below 2'),
    });

    const ran: V2[] = [];
    const mail = (payload: V2) => void ran.push(payload);
    const mended = createWorker({ ...common, db: database.db, registry: second, handlers: { mail, ping } });
    watch(mended);
    await mended.start();
    expect(await createQueue(second).replay(database.db, id)).toMatchObject({ result: 'done' });
    await until(() => ran.length, { what: 'the replay' });
    expect(ran).toEqual([{ userId: 7 }]);
  });

  it('keeps no slot, and can be given back by a stop', async () => {
    const { available } = given(database.sql);
    for (let n = 0; n < 20; n++) await available({ kind: 'mail', payload: { user: 'x' } });
    await available({ kind: 'mail', payload: { user: '5' }, priority: -1 });
    const ran: V2[] = [];
    const mail = (payload: V2) => void ran.push(payload);
    const options = { ...common, queues: { default: 1 } };
    const worker = createWorker({ ...options, db: database.db, registry: second, handlers: { mail, ping } });
    const seen = watch(worker);
    await worker.start();
    await until(() => ran.length, { what: 'the job behind them' });
    await worker.stop();
    expect(seen.failed).toHaveLength(20);
    expect(seen.stopped).toEqual([{ unwritten: 0 }]);
  });
});

it('what `retry` is told has the shape of today', async () => {
  await given(database.sql).available({ kind: 'mail', payload: { user: '7' } });
  const told: unknown[] = [];
  const registry = defineJobs({
    mail: job<V2>({
      version: 2,
      retry: (_error, _attempt, payload) => {
        told.push(payload);
        return false;
      },
    }).upgradeFrom<V1>(1, toV2),
  });
  const fails = () => {
    throw new Error('no luck');
  };
  const worker = createWorker({ ...common, db: database.db, registry, handlers: { mail: fails } });
  const seen = watch(worker);
  await worker.start();
  await until(() => seen.discarded.length, { what: 'the end' });
  expect(told).toEqual([{ userId: 7 }]);
});

it('an attempt that fails is upgraded anew: the row keeps what was enqueued', async () => {
  const id = await given(database.sql).available({ kind: 'mail', payload: { user: '7' } });
  let upgrades = 0;
  const registry = defineJobs({
    mail: job<V2>({ version: 2, retry: () => 0 }).upgradeFrom<V1>(1, (old) => {
      upgrades++;
      return toV2(old);
    }),
  });
  const worker = createWorker({
    ...common,
    db: database.db,
    registry,
    handlers: {
      mail: (payload, { attempt }) => {
        payload.userId = -1; // its own copy
        if (attempt < 3) throw new Error('no luck');
      },
    },
  });
  const seen = watch(worker);
  await worker.start();
  await until(() => seen.failed.length, { what: 'the first attempt' });
  await until(() => seen.completed.length, { what: 'the third attempt' });
  expect(upgrades).toBe(3);
  expect(await row(database.sql, id)).toBeUndefined();
});

describe('an alias', () => {
  it('is served with its kind, also where `kinds` names few', async () => {
    const registry = defineJobs({ one: job().alias('uno', 'eins'), two: job().alias('due') });
    const { available } = given(database.sql);
    for (const kind of ['uno', 'one', 'eins']) await available({ kind });
    const left = await available({ kind: 'due', priority: 5 });
    const before = await verbatim(database.sql, left);
    const worker = createWorker({
      ...common,
      db: database.db,
      registry,
      kinds: ['one'],
      handlers: { one: () => {} },
    });
    const seen = watch(worker);
    await worker.start();
    await until(() => seen.completed.length === 3, { what: 'all names of the kind' });
    expect(await verbatim(database.sql, left)).toBe(before);
  });

  it('names its kind in what is said of the kind’s `retry`', async () => {
    const retry = () => 'soon' as unknown as number;
    const registry = defineJobs({ one: job({ retry }).alias('uno') });
    await given(database.sql).available({ kind: 'uno' });
    const fails = () => {
      throw new Error('no luck');
    };
    const worker = createWorker({ ...common, db: database.db, registry, handlers: { one: fails } });
    const seen = watch(worker);
    await worker.start();
    await until(() => seen.failed.length, { what: 'the attempt' });
    expect(seen.error).toMatchObject([
      { error: { data: { kind: 'one', option: 'retry' } }, during: 'retry' },
    ]);
  });

  it('is no kind more: a worker of all kinds is counted on by the others', () => {
    const registry = defineJobs({ one: job().alias('uno', 'eins'), two: job() });
    const options = { ...common, db: database.db, registry };
    const [one, two] = [() => {}, () => {}];
    const all = checkWorkerOptions({ ...options, handlers: { one, two } });
    expect([...all.kinds.keys()]).toEqual(['one', 'uno', 'eins', 'two']);
    expect(all.servesAllKinds).toBe(true);
    const some = checkWorkerOptions({ ...options, kinds: ['one'], handlers: { one } });
    expect([...some.kinds.keys()]).toEqual(['one', 'uno', 'eins']);
    expect(some.servesAllKinds).toBe(false);
  });

  it('that gets a handler of its own is refused', () => {
    const registry = defineJobs({ one: job().alias('uno') });
    const handlers = { one: () => {}, uno: () => {} };
    expect(() => createWorker({ ...common, db: database.db, registry, handlers })).toThrow(
      expect.objectContaining({ code: 'UNKNOWN_HANDLER', data: { kind: 'uno' } }),
    );
  });
});

async function versions(ids: readonly number[]): Promise<unknown[]> {
  return Promise.all(ids.map(async (id) => (await row(database.sql, id))?.payloadVersion));
}

function ping(): void {}

function unreachable(): never {
  throw new Error('A job of a newer release was run.');
}
