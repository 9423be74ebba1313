/**
 * The same answers on every driver, on both generations of Drizzle (the two vitest projects). Each test says exactly
 * what is answered, so a driver that differs fails by name. One file, because PGlite takes seconds to start.
 */
import { sql } from 'drizzle-orm';
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql-proxy';
import { afterEach, describe, expect, it } from 'vitest';
import { drivers } from '../support/drivers.js';
import { queue } from './app.js';
import { awkwardSchemaTests } from './awkward-schema-tests.js';
import { clientSettingsTests } from './client-settings-tests.js';
import { completeTests } from './complete-tests.js';
import { optionsCases } from './drizzle-options.js';
import { drizzleOptionsTests } from './drizzle-options-tests.js';
import { enqueueTests } from './enqueue-tests.js';
import { eventTests } from './event-tests.js';
import { finishTests } from './finish-tests.js';
import { httpTests } from './http-tests.js';
import { moveTests } from './move-tests.js';
import { oddTextTests } from './odd-text-tests.js';
import { pauseTests } from './pause-tests.js';
import { queueTests } from './queue-tests.js';
import { readingTests } from './reading-tests.js';
import { runOnceTests } from './run-once-tests.js';
import { sharedClientTests } from './shared-client-tests.js';
import { useDriver } from './stage.js';
import { statementTests } from './statement-tests.js';
import { swallowedTests } from './swallowed-tests.js';
import { testingTests } from './testing-tests.js';
import { transactionsTests } from './transactions-tests.js';
import { versionTests } from './version-tests.js';
import { wakeTriggerTests } from './wake-trigger-tests.js';
import { workerTests } from './worker-tests.js';

describe.each(drivers)('on %s', (driver) => {
  const used = useDriver(driver);
  afterEach(async () => {
    await used.read(sql`truncate jobs restart identity`);
  });

  describe('enqueue', () => enqueueTests(used));
  describe('a queue', () => queueTests(used));
  describe('the worker’s statements', () => statementTests(used));
  describe('finish', () => finishTests(used));
  describe('a person’s moves', () => moveTests(used));
  describe('pauses', () => pauseTests(used));
  describe('reading', () => readingTests(used));
  describe('odd texts', () => oddTextTests(used));
  describe('a worker', () => workerTests(used));
  describe('a worker', () => eventTests(used));
  describe('payloads of several releases', () => versionTests(used));
  describe('the trigger', () => wakeTriggerTests(used));
  describe('a worker that runs once', () => runOnceTests(used));
  describe('the current transaction', () => transactionsTests(used));
  describe('a test', () => testingTests(used));
  describe('complete in a transaction', () => completeTests(used));
  describe('an error that is swallowed', () => swallowedTests(driver, used));
  describe('tables in a schema', () => awkwardSchemaTests(used));
  describe('a client with', () => clientSettingsTests(driver, used));
  describe('a client shared with other code', () => sharedClientTests(driver, used));
  describe.each(optionsCases)('drizzle() with %s', (_name, given) => {
    drizzleOptionsTests(useDriver(driver, given.options), given);
  });
});

describe('drivers over HTTP', () => {
  const used = useDriver('postgres.js');
  afterEach(async () => {
    await used.read(sql`truncate jobs restart identity`);
  });
  httpTests(used);
});

it('a MySQL database is refused by name', async () => {
  const mysql = drizzleMysql(async () => ({ rows: [] }));
  await expect(Reflect.apply(queue.enqueue, undefined, [mysql, 'greet', null])).rejects.toMatchObject({
    code: 'INVALID_EXECUTOR',
    message: expect.stringMatching(/^Expected a Drizzle Postgres database or transaction, got MySql\w+\.$/),
  });
});
