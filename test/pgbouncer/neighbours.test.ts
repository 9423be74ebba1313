/** Other clients of the same pooler leave their session's defaults behind, or the database has odd ones. */
import { sql } from 'drizzle-orm';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { createQueue, defineJobs, job } from '../../src/index.js';
import { sessionDefaults } from '../../src/sql/session.js';
import { until } from '../support/until.js';
import { type Task, useWorkers } from '../worker/stage.js';
import { clients, reconnect, usePooler } from './stage.js';

const poolSize = 2;
const used = usePooler({ poolSize });
const { startTask } = useWorkers(used.direct);
const { enqueueMany } = createQueue(defineJobs({ task: job<Task>() }));
const list = Array.from({ length: 50 }, (_, n) => ({ kind: 'task', payload: { n } }) as const);

describe.each(clients)('on %s', (client) => {
  it('a worker goes on when a neighbour makes every connection read-only meanwhile', async () => {
    const db = used.db(client);
    await reconnect(used.pooler);
    const ran: number[] = [];
    const { worker, seen } = await startTask(({ n }) => void ran.push(n), { db });
    await enqueueMany(used.direct.db, list.slice(0, 1));
    await until(() => seen.completed.length === 1, { what: 'the first job' });

    await leaveBehind('set default_transaction_read_only = on');
    expect(await sessionDefaults(db)).toMatchObject({ readOnly: true });
    await enqueueMany(used.direct.db, list.slice(1));

    await until(() => seen.completed.length === 50, { what: 'every job to end' });
    await worker.stop();
    expect(ran.sort((a, b) => a - b)).toEqual(list.map(({ payload }) => payload.n));
    expect(seen.lost).toEqual([]);
  });

  it('a worker reads at its start, through the pooler, that the database is serializable', async () => {
    const db = used.db(client);
    const name = sql.identifier(new URL(used.direct.url).pathname.slice(1));
    await used.direct.db.execute(
      sql`alter database ${name} set default_transaction_isolation to serializable`,
    );
    try {
      await reconnect(used.pooler);
      const { worker, seen } = await startTask(() => undefined, { db });
      await enqueueMany(used.direct.db, list);
      await until(() => seen.completed.length === 50, { what: 'every job to end' });
      await worker.stop();
      expect(await sessionDefaults(db)).toMatchObject({ isolation: 'serializable' });
      expect(seen.error).toEqual([]);
    } finally {
      await used.direct.db.execute(sql`alter database ${name} reset default_transaction_isolation`);
    }
  });
});

/** Runs a statement on each of the pooler's connections to the server, outside of any transaction. */
async function leaveBehind(statement: string): Promise<void> {
  const neighbours = postgres(used.pooler.url, { max: poolSize, prepare: false, fetch_types: false });
  let held = 0;
  await Promise.all(
    Array.from({ length: poolSize }, () =>
      neighbours.begin(async (tx) => {
        await tx`select 1`;
        held++;
        await until(() => held === poolSize, { what: 'every connection to be held' });
        await tx.unsafe(statement);
      }),
    ),
  );
  await neighbours.end();
}
