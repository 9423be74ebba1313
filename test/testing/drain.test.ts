/** `drain`: what runs, in which order, and what is written down of failures. */
import { sql } from 'drizzle-orm';
import { pgSchema } from 'drizzle-orm/pg-core';
import { afterEach, describe, expect, it } from 'vitest';
import { createQueue, defineJobs, type Handlers, job, type Settled } from '../../src/index.js';
import { queueTables } from '../../src/schema.js';
import { advance, drain, rolledBack } from '../../src/testing.js';
import { Discard } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';

const database = useDatabase();
afterEach(async () => {
  const [left] = await database.sql`select 1 from jobs`;
  expect(left).toBeUndefined(); // every test rolls back
});

const registry = defineJobs({
  step: job<{ n: number }>({ maxAttempts: 2 }),
  mail: job<{ n: number }>().queue('mail'),
  count: job<{ n: number }, { n: number }>(),
});
const queue = createQueue(registry);
type Tx = Parameters<Parameters<typeof database.db.transaction>[0]>[0];

const inTransaction = <Answer>(work: (tx: Tx) => Promise<Answer>) => rolledBack(database.db, work);

describe('what runs', () => {
  it('is what is due, by priority and then as it was enqueued, with what handlers enqueue', async () => {
    const order = await inTransaction(async (tx) => {
      const seen: number[] = [];
      for (const n of [1, 2, 3]) await queue.enqueue(tx, 'step', { n });
      await queue.enqueue(tx, 'step', { n: 0 }, { priority: 1 });
      await queue.enqueue(tx, 'step', { n: 99 }, { delayMs: 60_000 });
      const runs = await drain(tx, {
        registry,
        handlers: {
          step: async ({ n }) => {
            seen.push(n);
            if (n === 2) await queue.enqueue(tx, 'step', { n: 4 });
          },
        },
      });
      expect(runs.every(({ outcome }) => outcome === 'completed')).toBe(true);
      return seen;
    });
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });

  it('is of the kinds that have handlers, on whatever queue, and nothing else', async () => {
    await inTransaction(async (tx) => {
      await queue.enqueueMany(tx, [
        { kind: 'step', payload: { n: 1 } },
        { kind: 'mail', payload: { n: 2 } },
        { kind: 'count', payload: { n: 3 } },
      ]);
      await tx.execute(sql`insert into jobs (kind, queue, payload) values ('mail', 'elsewhere', '{"n": 4}')`);
      const runs = await drain(tx, { registry, handlers: { mail: () => {}, count: ({ n }) => ({ n }) } });
      expect(runs.map(({ kind, queue }) => `${kind} of ${queue}`).sort()).toEqual([
        'count of default',
        'mail of elsewhere',
        'mail of mail',
      ]);
      expect(await drain(tx, { registry, handlers: {} })).toEqual([]);
    });
  });

  it('is in the tables that are named', async () => {
    const tables = queueTables({ schema: pgSchema('work') });
    const working = createQueue(registry, { tables });
    await inTransaction(async (tx) => {
      await tx.execute(sql`create schema work`);
      await tx.execute(sql`create table work.jobs (like public.jobs including all)`);
      await working.enqueue(tx, 'step', { n: 1 });
      await advance(tx, working, 1_000);
      const handlers = { step: () => {} };
      expect(await drain(tx, { registry, handlers })).toEqual([]);
      expect(await drain(tx, { registry, handlers, tables: working.tables })).toHaveLength(1);
    });
  });

  it('has an end where handlers enqueue without one', async () => {
    let runs = 0;
    const endless = inTransaction(async (tx) => {
      await queue.enqueue(tx, 'step', { n: 1 });
      const step = async ({ n }: { n: number }) => {
        runs++;
        await queue.enqueue(tx, 'step', { n: n + 1 });
      };
      await drain(tx, { registry, handlers: { step }, limit: 7 });
    });
    await expect(endless).rejects.toMatchObject({ code: 'DRAIN_LIMIT', data: { limit: 7 } });
    expect(runs).toBe(7);
  });
});

describe('a failed attempt', () => {
  const fails = () => {
    throw new Error('it fails');
  };

  it('is written down and tried again after its pause, until its attempts are used up', async () => {
    await inTransaction(async (tx) => {
      const { id } = await queue.enqueue(tx, 'step', { n: 1 });
      const options = { registry, handlers: { step: fails } };
      const [first, ...others] = await drain(tx, options);
      expect(first).toMatchObject({ id, attempt: 1, outcome: 'failed', error: { message: 'it fails' } });
      expect(others).toEqual([]);
      await advance(tx, queue, 10_000);
      expect(await drain(tx, options)).toMatchObject([{ id, attempt: 2, outcome: 'discarded' }]);
      const [row] = await tx.select().from(queue.tables.jobs);
      expect(row).toMatchObject({ state: 'discarded', errors: [{ attempt: 1 }, { attempt: 2 }] });
      expect(row?.lastError).toContain('Error: it fails');
    });
  });

  it('is thrown where the test says so, and no discard on purpose is', async () => {
    const thrown = inTransaction(async (tx) => {
      await queue.enqueue(tx, 'step', { n: 1 });
      await queue.enqueue(tx, 'mail', { n: 2 });
      const discards = () => {
        throw new Discard('no');
      };
      const mail = await drain(tx, { registry, handlers: { mail: discards }, throwErrors: true });
      expect(mail).toMatchObject([{ outcome: 'discarded' }]);
      await drain(tx, { registry, handlers: { step: fails }, throwErrors: true });
    });
    await expect(thrown).rejects.toThrow('it fails');
  });

  it('keeps what its handler wrote, as it would outside of a transaction; unless a statement failed', async () => {
    await inTransaction(async (tx) => {
      await tx.execute(sql`create temp table notes (n int)`);
      await queue.enqueueMany(tx, [
        { kind: 'step', payload: { n: 1 } },
        { kind: 'step', payload: { n: 2 } },
        { kind: 'step', payload: { n: 3 } },
        { kind: 'step', payload: { n: 4 } },
      ]);
      const runs = await drain(tx, {
        registry,
        handlers: {
          step: async ({ n }) => {
            await tx.execute(sql`insert into notes values (${n}::int)`);
            if (n === 1) throw new Error('after its note');
            if (n === 2) await tx.transaction((inner) => inner.execute(sql`select 1 / 0`)).catch(() => {});
            if (n === 3) await tx.execute(sql`select 1 / 0`).catch(() => {}); // it may be caught, Postgres stays so
          },
        },
      });
      expect(runs.map(({ outcome }) => outcome)).toEqual(['failed', 'completed', 'failed', 'completed']);
      const notes = await tx.execute(sql`select n from notes order by n`);
      expect(notes.map(({ n }) => n)).toEqual([1, 2, 4]);
    });
  });
});

describe('a handler that caught the error of a statement, which has undone what it wrote', () => {
  const told: unknown[] = [];
  const undone = defineJobs({
    write: job<{ ends: 'returns' | 'snoozes' | 'discards' }>({
      maxAttempts: 2,
      retry: (error) => {
        told.push(error);
        return 60_000;
      },
    }),
  });
  const writing = createQueue(undone);
  const handlersOf = (tx: Tx): Handlers<typeof undone> => ({
    write: async ({ ends }, run) => {
      await tx.execute(sql`select 1 / 0`).catch(() => {});
      if (ends === 'snoozes') return run.snooze({ delayMs: 1_000 });
      if (ends === 'discards') return run.discard('no');
    },
  });

  it('has failed with what to do, and its kind is asked what becomes of that', async () => {
    await inTransaction(async (tx) => {
      const { id } = await writing.enqueue(tx, 'write', { ends: 'returns' });
      const options = { registry: undone, handlers: handlersOf(tx) };
      const [run] = await drain(tx, options);
      const error = {
        code: 'JOB_ROLLED_BACK',
        data: { id },
        message: expect.stringContaining('tx.transaction'),
      };
      expect(run).toMatchObject({ outcome: 'failed', retryInMs: expect.closeTo(60_000, -3), error });
      expect(told).toMatchObject([error]);
      await advance(tx, writing, 60_000);
      await expect(drain(tx, { ...options, throwErrors: true })).rejects.toMatchObject(error);
      const [row] = await tx.select().from(writing.tables.jobs);
      expect(row).toMatchObject({ state: 'discarded', lastError: expect.stringContaining('is undone') });
    });
  });

  it('has the outcome that it said', async () => {
    await inTransaction(async (tx) => {
      await writing.enqueue(tx, 'write', { ends: 'snoozes' });
      await writing.enqueue(tx, 'write', { ends: 'discards' });
      const runs = await drain(tx, { registry: undone, handlers: handlersOf(tx) });
      expect(runs.map(({ outcome }) => outcome)).toEqual(['snoozed', 'discarded']);
    });
  });
});

describe('the end of a job', () => {
  it('in the handler’s own transaction is that of the test', async () => {
    await inTransaction(async (tx) => {
      await queue.enqueueMany(tx, [
        { kind: 'step', payload: { n: 1 } },
        { kind: 'step', payload: { n: 2 } },
        { kind: 'step', payload: { n: 3 } },
      ]);
      const rolled = new Error('after complete');
      const runs = await drain(tx, {
        registry,
        handlers: {
          step: ({ n }, job) => {
            if (n === 1) return job.complete(tx);
            return tx.transaction(async (inner) => {
              await job.complete(inner);
              if (n === 2) throw rolled;
            });
          },
        },
      });
      expect(runs.map(({ outcome }) => outcome)).toEqual(['completed', 'failed', 'completed']);
      expect(runs[1]).toMatchObject({ error: rolled });
      expect(await tx.select().from(queue.tables.jobs)).toHaveLength(1);
    });
  });

  it('is lost where the handler itself moved the row', async () => {
    await inTransaction(async (tx) => {
      await queue.enqueue(tx, 'step', { n: 1 });
      const step = async (_: unknown, { id }: { id: number }) => {
        await queue.cancel(tx, id);
      };
      expect(await drain(tx, { registry, handlers: { step } })).toMatchObject([{ outcome: 'lost' }]);
    });
  });

  it('tells of what came after it', async () => {
    await inTransaction(async (tx) => {
      await queue.enqueue(tx, 'step', { n: 1 });
      const late = new Error('after the snooze');
      const runs = await drain(tx, {
        registry,
        handlers: {
          step: (_, job) => {
            job.snooze({ delayMs: 1_000 });
            throw late;
          },
        },
      });
      expect(runs).toMatchObject([{ outcome: 'snoozed', fault: late }]);
    });
  });
});

describe('what it is given', () => {
  it.each<[what: string, options: object, code: string]>([
    ['an unknown kind', { handlers: { stepp: () => {} } }, 'UNKNOWN_KIND'],
    ['no function', { handlers: { step: 1 } }, 'INVALID_OPTION'],
    ['no handlers', {}, 'INVALID_OPTION'],
    ['a handler that is not there', { handlers: { step: undefined } }, 'INVALID_OPTION'],
    ['a wrong limit', { handlers: {}, limit: 0 }, 'INVALID_OPTION'],
    ['an unknown option', { handlers: {}, queues: ['mail'] }, 'INVALID_OPTION'],
    ['no registry', { registry: {}, handlers: {} }, 'INVALID_OPTION'],
  ])('is checked: %s', async (_what, options, code) => {
    await inTransaction(async (tx) => {
      const given = [tx, { registry, ...options }];
      await expect(Reflect.apply(drain, undefined, given)).rejects.toMatchObject({ code });
    });
  });

  it('is a transaction', async () => {
    const given = [database.db, { registry, handlers: {} }];
    await expect(Reflect.apply(drain, undefined, given)).rejects.toMatchObject({
      code: 'TRANSACTION_REQUIRED',
    });
  });
});

describe('a transaction that has ended', () => {
  const handlers = { step: () => {} };

  it('runs nothing: its statements would be in none', async () => {
    let late: () => Promise<unknown> = async () => undefined;
    await database.db.transaction(async (tx) => {
      late = () => drain(tx, { registry, handlers });
    });
    const { id } = await queue.enqueue(database.db, 'step', { n: 1 });
    try {
      await expect(late()).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
      expect(await queue.get(database.db, id)).toMatchObject({ state: 'available' });
    } finally {
      await queue.remove(database.db, id);
    }
  });

  it('by a statement of a handler is told', async () => {
    await inTransaction(async (tx) => {
      await queue.enqueue(tx, 'step', { n: 1 });
      const ends = async () => {
        await tx.execute(sql`rollback`);
      };
      const error = await drain(tx, { registry, handlers: { step: ends } }).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code: 'TRANSACTION_ENDED' });
    });
  });
});

it('one at a time works on a transaction', async () => {
  await inTransaction(async (tx) => {
    await queue.enqueue(tx, 'step', { n: 1 });
    const second: unknown[] = [];
    const handlers = {
      step: async () => {
        second.push(await drain(tx, { registry, handlers: {} }).catch((error: unknown) => error));
      },
    };
    expect(await drain(tx, { registry, handlers })).toMatchObject([{ outcome: 'completed' }]);
    expect(second).toMatchObject([{ code: 'WORKER_BUSY' }]);
    expect(await drain(tx, { registry, handlers })).toEqual([]);
  });
});

it('one more run that a handler asks for while it runs, and throttles', async () => {
  const seen = await inTransaction(async (tx) => {
    const seen: number[] = [];
    const again = { dedupeKey: 'again', onDuplicate: 'again' } as const;
    const throttle = { dedupeKey: 'throttle', onDuplicate: 'throttle', periodMs: 60_000 } as const;
    await queue.enqueue(tx, 'step', { n: 1 }, again);
    await queue.enqueue(tx, 'mail', { n: 8 }, throttle);
    const runs = await drain(tx, {
      registry,
      handlers: {
        step: async ({ n }, step) => {
          seen.push(n);
          if (n === 1) await queue.enqueue(tx, 'step', { n: 2 }, again);
          if (n === 2) {
            await queue.enqueue(tx, 'step', { n: 3 }, again);
            await step.complete(tx);
          }
        },
        mail: ({ n }) => void seen.push(n),
      },
    });
    expect(runs.every(({ outcome, attempt }) => outcome === 'completed' && attempt === 1)).toBe(true);
    expect(await queue.enqueue(tx, 'mail', { n: 9 }, throttle)).toMatchObject({ duplicate: true });
    return seen;
  });
  expect(seen.sort()).toEqual([1, 2, 3, 8]);
});

it('leaves what is paused, also by a handler, until it is resumed', async () => {
  await inTransaction(async (tx) => {
    const handlers = {
      step: async ({ n }: { n: number }) => {
        if (n === 2) await queue.pause(tx, { kind: 'step' });
      },
      mail: () => {},
    };
    const ran = async () =>
      (await drain(tx, { registry, handlers })).map(({ kind, outcome }) => `${kind} ${outcome}`).sort();
    await queue.pause(tx, { queue: 'mail' });
    for (const n of [1, 2, 3]) await queue.enqueue(tx, 'step', { n });
    await queue.enqueue(tx, 'mail', { n: 4 });
    await queue.enqueue(tx, 'mail', { n: 5 }, { queue: 'default' });
    expect(await ran()).toEqual(['mail completed', 'step completed', 'step completed']);
    await queue.resume(tx, { queue: 'mail' });
    expect(await ran()).toEqual(['mail completed']);
    await queue.resume(tx, { kind: 'step' });
    expect(await ran()).toEqual(['step completed']);
  });
});

it('works without the table of what is paused', async () => {
  await inTransaction(async (tx) => {
    await tx.execute(sql`alter table job_limits rename to elsewhere`);
    await queue.enqueue(tx, 'mail', { n: 1 });
    expect(await drain(tx, { registry, handlers: { mail: () => {} } })).toMatchObject([
      { outcome: 'completed' },
    ]);
  });
});

it('a throttled key is free when its period has been let pass, and no sooner', async () => {
  const throttle = { dedupeKey: 'k', onDuplicate: 'throttle', periodMs: 60_000 } as const;
  await inTransaction(async (tx) => {
    const enqueue = (n: number) => queue.enqueue(tx, 'step', { n }, throttle);
    const { id } = await enqueue(1);
    await drain(tx, { registry, handlers: { step: () => {} } });
    await advance(tx, queue, 30_000);
    expect(await enqueue(2)).toEqual({ id, duplicate: true });
    await advance(tx, queue, 30_000);
    expect(await enqueue(3)).toMatchObject({ duplicate: false });
  });
});

it('time passes where there is no table of throttles', async () => {
  await inTransaction(async (tx) => {
    await tx.execute(sql`drop table job_throttle`);
    await queue.enqueue(tx, 'step', { n: 1 });
    expect(await advance(tx, queue, 1_000)).toBe(1);
    expect(await advance(tx, createQueue(registry, { tables: { jobs: queue.tables.jobs } }), 1_000)).toBe(1);
  });
});

it('keeps the rows of kinds that say so, with what their handlers gave', async () => {
  const keeping = defineJobs({ count: job<{ n: number }, { n: number }>().onComplete('keep') });
  const counting = createQueue(keeping);
  await inTransaction(async (tx) => {
    const { id } = await counting.enqueue(tx, 'count', { n: 4 });
    const { id: other } = await counting.enqueue(tx, 'count', { n: 5 });
    const handlers = {
      count: ({ n }: { n: number }, run: { complete(tx: Tx, result: { n: number }): Promise<Settled> }) =>
        n === 5 ? run.complete(tx, { n }) : { n },
    };
    const runs = await drain(tx, { registry: keeping, handlers });
    expect(runs.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
    expect(await counting.get(tx, id)).toMatchObject({ state: 'completed', result: { n: 4 } });
    expect(await counting.get(tx, other)).toMatchObject({ state: 'completed', result: { n: 5 } });
  });
});
