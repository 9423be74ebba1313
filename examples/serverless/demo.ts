/** Enqueues, and calls the route as a cron service would. Run it with `DATABASE_URL` and `CRON_SECRET`. */
import { db } from './database.js';
import { queue } from './jobs.js';
import { tick } from './tick.js';

async function call(secret = process.env['CRON_SECRET']): Promise<string> {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await tick(new Request('https://app.example/api/tick', { headers }));
  return `${response.status} ${await response.text()}`;
}

await queue.enqueueMany(
  db,
  ['ada', 'bob', 'busy', 'nobody'].map((to) => ({ kind: 'sendMail', payload: { to } })),
);
await queue.enqueue(db, 'sendMail', { to: 'cleo' }, { delayMs: 3_600_000 });

console.log(await call('guessed'));
console.log(await call());
console.log(await call());
await db.$client.end({ timeout: 5 });
