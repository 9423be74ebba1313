/** The serverless example, with what it prints. */
import { expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { runExample } from './run-example.js';

const database = useDatabase();

it('works on what is due at each call, and ends by itself', async () => {
  const env = { DATABASE_URL: database.url, CRON_SECRET: 'secret' };
  const { exitCode, stdout, stderr } = await runExample(['--import', 'tsx', 'examples/serverless/demo.ts'], env);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const answer = (completed: number, failed: number, discarded: number) =>
    `200 {"completed":${completed},"failed":${failed},"discarded":${discarded},"snoozed":0,"released":0,"rescued":0,"lost":0,"unwritten":0,"more":false}`;
  expect(stdout.trim().split('\n')).toEqual([
    '401 Not for you.',
    'mail to ada',
    'mail to bob',
    answer(2, 1, 1),
    answer(0, 0, 0),
  ]);
});
