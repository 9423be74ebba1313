/** The same answers through the pooler as without it: the conformance suite of the drivers, with each client. */
import { sql } from 'drizzle-orm';
import { afterEach, describe } from 'vitest';
import { rows } from '../../src/database/rows.js';
import { enqueueTests } from '../drivers/enqueue-tests.js';
import { finishTests } from '../drivers/finish-tests.js';
import { oddTextTests } from '../drivers/odd-text-tests.js';
import { runOnceTests } from '../drivers/run-once-tests.js';
import type { UsedDriver } from '../drivers/stage.js';
import { statementTests } from '../drivers/statement-tests.js';
import { testingTests } from '../drivers/testing-tests.js';
import { transactionsTests } from '../drivers/transactions-tests.js';
import { workerTests } from '../drivers/worker-tests.js';
import { clients, usePooler } from './stage.js';

const pooled = usePooler();
const { db } = pooled;

describe.each(clients)('on %s', (client) => {
  const used: UsedDriver = {
    get url() {
      return pooled.pooler.url;
    },
    get db() {
      return db(client);
    },
    read: (query) => rows(db(client), query),
    async startIdsAfter(id) {
      await rows(db(client), sql`select setval(pg_get_serial_sequence('jobs', 'id'), ${id}::bigint)`);
    },
  };
  afterEach(async () => {
    await used.read(sql`truncate jobs restart identity`);
  });

  describe('enqueue', () => enqueueTests(used));
  describe('the worker’s statements', () => statementTests(used));
  describe('finish', () => finishTests(used));
  describe('odd texts', () => oddTextTests(used));
  describe('a worker', () => workerTests(used));
  describe('a worker that runs once', () => runOnceTests(used));
  describe('the current transaction', () => transactionsTests(used));
  describe('a test', () => testingTests(used));
});
