/** A queue without a worker that stays: a route, called by a cron service, works on what is due. */
import { openDatabase } from '../database.js';
import { makeTick, queue } from './tick.js';

const db = await openDatabase();
const tick = makeTick(db, 'secret');

async function call(secret: string): Promise<void> {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await tick(new Request('https://app.example/api/tick', { headers }));
  console.log(`${response.status} ${await response.text()}`);
}

for (const to of ['ada', 'busy', 'nobody', 'bob']) await queue.enqueue(db, 'sendMail', { to });
await queue.enqueue(db, 'sendMail', { to: 'cleo' }, { delayMs: 3_600_000 });

await call('guessed');
await call('secret');
await call('secret');
await db.$client.close();
