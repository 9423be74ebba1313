/** What is found where a role lacks a right or a policy, and where the server takes no writes. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkSchema, type QueueRole, type QueueTables } from '../../src/index.js';
import { jobs, queueTables } from '../../src/schema.js';
import { useDatabase } from '../support/database.js';
import { readMigrations } from '../support/migrations.js';
import { startEmbedded } from '../support/postgres/index.js';

const database = useDatabase();
/** Roles belong to the server, which other files use at the same time. */
let role: string;

beforeAll(async () => {
  role = `check ${database.url.split('/').at(-1)}`;
  await database.sql`create role ${database.sql(role)}`;
});
afterAll(async () => {
  await database.sql`drop owned by ${database.sql(role)}`;
  await database.sql`drop role ${database.sql(role)}`;
});

/** As the role sees it. */
function look(queueRole: QueueRole, tables?: QueueTables) {
  return database.db.transaction(async (tx) => {
    await tx.execute(sql`set local role ${sql.identifier(role)}`);
    return checkSchema(tx, { role: queueRole, tables });
  });
}

/** Runs what the check says until it has nothing to say. */
async function mend(queueRole: QueueRole): Promise<string[]> {
  const found = await look(queueRole);
  for (const { run } of found) for (const statement of run) await database.sql.unsafe(statement);
  expect(await look(queueRole)).toEqual([]);
  await database.sql`revoke all on jobs from ${database.sql(role)}`;
  return found.map(({ code, message }) => `${code}: ${message.replaceAll(role, 'it')}`);
}

it('a role without rights is told each that it needs', async () => {
  expect(await mend('reader')).toEqual([
    'RIGHT_MISSING: The role "it" lacks the right select on table "public"."jobs". Run: grant select on "public"."jobs" to "it".',
    'RIGHT_MISSING: The role "it" lacks the right select on table "public"."job_limits". Run: grant select on "public"."job_limits" to "it".',
  ]);
  await database.sql`revoke all on job_limits from ${database.sql(role)}`;
  expect(await mend('enqueuer')).toEqual([
    expect.stringContaining('Run: grant insert ("queue", "kind", "payload", '),
    expect.stringContaining(
      'Run: grant select ("id", "kind", "dedupe_key", "state") on "public"."jobs" to "it".',
    ),
  ]);
  expect(await mend('worker')).toEqual([
    expect.stringContaining('Run: grant select on "public"."jobs" to "it".'),
    expect.stringContaining('Run: grant update ("state", "attempts", '),
    expect.stringContaining('Run: grant delete on "public"."jobs" to "it".'),
    expect.stringContaining('Run: grant select on "public"."job_throttle" to "it".'),
    expect.stringContaining('Run: grant update ("until") on "public"."job_throttle" to "it".'),
    expect.stringContaining('Run: grant delete on "public"."job_throttle" to "it".'),
    expect.stringContaining('Run: grant select on "public"."job_limits" to "it".'),
  ]);
  expect(await mend('operator')).toEqual([
    expect.stringContaining('Run: grant select on "public"."jobs" to "it".'),
    expect.stringContaining('Run: grant update ("state", "attempts", "run_at", "payload", '),
    expect.stringContaining('Run: grant delete on "public"."jobs" to "it".'),
    expect.stringContaining('Run: grant insert ("scope", "name") on "public"."job_limits" to "it".'),
    expect.stringContaining('Run: grant delete on "public"."job_limits" to "it".'),
  ]);
});

it('without a right to what is paused, a worker and a reader are warned, unless the app has no such table', async () => {
  const { jobThrottle } = queueTables();
  await database.sql`grant all on jobs, job_throttle to ${database.sql(role)}`;
  await database.sql`revoke all on job_limits from ${database.sql(role)}`;
  for (const queueRole of ['worker', 'reader'] as const) {
    expect(await look(queueRole)).toMatchObject([
      { code: 'RIGHT_MISSING', severity: 'warning', object: 'table "public"."job_limits"' },
    ]);
    expect(await look(queueRole, { jobs, jobThrottle })).toEqual([]);
  }
  expect(await look('enqueuer')).toEqual([]);
  expect(await mend('worker')).toHaveLength(1);
});

it('without rights on the throttles, a worker is warned, unless the app has no such table', async () => {
  await database.sql`grant all on jobs, job_limits to ${database.sql(role)}`;
  await database.sql`revoke all on job_throttle from ${database.sql(role)}`;
  expect((await look('worker')).map(({ severity, object }) => `${severity} ${object}`)).toEqual(
    Array(3).fill('warning table "public"."job_throttle"'),
  );
  expect(await look('enqueuer')).toEqual([]);
  expect(await look('reader')).toEqual([]);
  expect(await look('worker', { jobs })).toEqual([]);
  expect(await mend('worker')).toHaveLength(3);
});

it('and each policy where row-level security hides its rows', async () => {
  await database.sql`alter table jobs enable row level security`;
  await database.sql`grant all on jobs to ${database.sql(role)}`;
  const commands = async (queueRole: QueueRole) =>
    (await look(queueRole)).map(
      ({ code, message }) => `${code} ${/lets the role .* (\w+)\. Run: /.exec(message)?.[1]}`,
    );
  expect(await commands('reader')).toEqual(['POLICY_MISSING select']);
  expect(await commands('enqueuer')).toEqual(['POLICY_MISSING insert', 'POLICY_MISSING select']);
  expect(await commands('worker')).toEqual([
    'POLICY_MISSING select',
    'POLICY_MISSING update',
    'POLICY_MISSING delete',
  ]);
  // One that only restricts lets nobody in.
  await database.sql`create policy limits on jobs as restrictive for all to public using (true)`;
  expect(await commands('worker')).toHaveLength(3);
  expect(await mend('worker')).toHaveLength(3);
  await database.sql`drop policy ${database.sql(`queue_delete_${role}`)} on jobs`;
  await database.sql`create policy everything on jobs for all to public using (true)`;
  await database.sql`grant all on jobs to ${database.sql(role)}`;
  expect(await look('worker')).toEqual([]);
  await database.sql`alter policy everything on jobs to ${database.sql(role)}`;
  expect(await look('worker')).toEqual([]);
  await database.sql`alter policy everything on jobs to current_user`;
  expect(await commands('worker')).toEqual(['POLICY_MISSING delete']);
  // Of those who go past it, nothing is asked.
  expect(await checkSchema(database.db)).toEqual([]);
  await database.sql`drop policy everything on jobs`;
  await database.sql`alter table jobs disable row level security`;
});

it('a role that may not use the schema', async () => {
  await database.sql`revoke usage on schema public from public`;
  await database.sql`grant select on jobs to ${database.sql(role)}`;
  expect(await mend('reader')).toEqual([
    'RIGHT_MISSING: The role "it" may not use schema "public". Run: grant usage on schema "public" to "it".',
  ]);
});

it('a standby', async () => {
  const postgres = await startEmbedded();
  const db = drizzle(postgres.url);
  try {
    for (const migration of await readMigrations()) await db.execute(migration);
    expect(await checkSchema(db)).toEqual([]);
    await postgres.halt();
    await writeFile(join(postgres.folder, 'data', 'standby.signal'), '');
    await postgres.start();
    expect(await checkSchema(db)).toEqual([
      expect.objectContaining({ code: 'SERVER_READ_ONLY', severity: 'error', object: 'server' }),
    ]);
    expect(await checkSchema(db, { role: 'reader' })).toEqual([]);
  } finally {
    await db.$client.end({ timeout: 1 });
    await postgres.stop();
  }
});

it.each([
  ['an option that does not exist', { table: 1 }, 'Unknown option "table"'],
  [
    'a role that does not exist',
    { role: 'admin' },
    'Expected `role` to be one of enqueuer, worker, reader, operator',
  ],
  ['tables that are none', { tables: {} }, 'Expected `tables` to be what queueTables(…) gave'],
])('%s is refused before any SQL', async (_what, options, message) => {
  const answer = Reflect.apply(checkSchema, undefined, [database.db, options]);
  await expect(answer).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining(message),
  });
  await expect(Reflect.apply(checkSchema, undefined, [{}])).rejects.toMatchObject({
    code: 'INVALID_EXECUTOR',
  });
});
