/** The mail provider is down: mails are held back while orders go on, and leave once it is up again. */
import { createQueue, defineJobs, job } from 'drizzle-queue';
import { createWorker } from 'drizzle-queue/worker';
import { openDatabase } from '../database.js';

const registry = defineJobs({
  sendReceipt: job<{ orderId: number }>().queue('mail'),
  packOrder: job<{ orderId: number }>(),
});
const queue = createQueue(registry);
const db = await openDatabase();
const worker = createWorker({
  db,
  registry,
  queues: { mail: 5, default: 5 },
  handlers: {
    sendReceipt: ({ orderId }) => console.log(`  receipt for order ${orderId}`),
    packOrder: ({ orderId }) => console.log(`  order ${orderId} is packed`),
  },
  log: false,
});

console.log('pause:', (await queue.pause(db, { queue: 'mail' })).result);
console.log('again:', (await queue.pause(db, { queue: 'mail' })).result);
await queue.enqueueMany(db, [
  { kind: 'sendReceipt', payload: { orderId: 1 } },
  { kind: 'packOrder', payload: { orderId: 1 } },
]);
await worker.runOnce();

for (const each of await queue.paused(db)) {
  console.log('resume', each.queue ?? each.kind);
  await queue.resume(db, each);
}
await worker.runOnce();
await db.$client.close();
