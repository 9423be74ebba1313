/** Three releases of an app: a payload changes twice and its kind is renamed, while jobs of every release wait. */
import { createQueue, defineJobs, job } from 'drizzle-queue';
import { createWorker, type Worker } from 'drizzle-queue/worker';
import { openDatabase } from '../database.js';

// Release 1. Its jobs have version 1, which need not be said.
interface MailV1 {
  user: string;
}
const release1 = defineJobs({
  send_mail: job<MailV1>(),
});

// Release 2 wants a number. Jobs of version 1 wait, so it says how they become version 2.
interface MailV2 {
  userId: number;
}
function toNumber({ user }: MailV1): MailV2 {
  const userId = Number(user);
  if (!Number.isInteger(userId)) throw new Error(`"${user}" is no user's id`);
  return { userId };
}
const release2 = defineJobs({
  send_mail: job<MailV2>({ version: 2 }).upgradeFrom<MailV1>(1, toNumber),
});

// Release 3 wants a language as well, and another name. A step for each version; each leads to the next.
interface MailV3 {
  userId: number;
  locale: string;
}
const release3 = defineJobs({
  sendMail: job<MailV3>({ version: 3 })
    .upgradeFrom<MailV2>(2, (old) => ({ ...old, locale: 'en' }))
    .upgradeFrom<MailV1>(1, toNumber)
    .alias('send_mail'),
});

const db = await openDatabase();
const common = { db, queues: { default: 1 }, pollIntervalMs: 50, log: false } as const;

console.log('Release 3 has begun: its web processes enqueue, and a worker of release 1 still runs.');
await createQueue(release3).enqueue(db, 'sendMail', { userId: 9, locale: 'de' });
await createQueue(release2).enqueue(db, 'send_mail', { userId: 8 });
await createQueue(release1).enqueue(db, 'send_mail', { user: '7' });
const old = createWorker({
  ...common,
  registry: release1,
  handlers: { send_mail: ({ user }) => console.log(`  release 1 sends a mail to user ${user}`) },
});
await runs(old, 1);
await showRows();

console.log('The last worker of release 1 has gone, and left two jobs.');
await createQueue(release1).enqueue(db, 'send_mail', { user: '6' });
await createQueue(release1).enqueue(db, 'send_mail', { user: 'nobody' });
await showRows();

console.log('Workers of release 3 run all of them.');
const fresh = createWorker({
  ...common,
  registry: release3,
  handlers: {
    sendMail: ({ userId, locale }) => console.log(`  release 3 sends a mail to user ${userId} in ${locale}`),
  },
});
fresh.on('failed', ({ error }) => console.log(`  ${error instanceof Error ? error.message : error}`));
await runs(fresh, 4);

console.log('What could not be upgraded waits for a retry, as it was: the next release may know better.');
await showRows();
await db.$client.close();

/** Until so many jobs have ended, well or not. */
async function runs(worker: Worker, jobs: number): Promise<void> {
  let ended = 0;
  const done = new Promise<void>((resolve) => {
    const end = (): void => void (++ended === jobs && resolve());
    worker.on('completed', end);
    worker.on('failed', end);
  });
  await worker.start();
  await done;
  await worker.stop();
}

async function showRows(): Promise<void> {
  const { jobs } = createQueue(release3).tables;
  for (const row of await db.select().from(jobs).orderBy(jobs.id)) {
    console.log(`  waits: ${row.kind}, version ${row.payloadVersion}, ${JSON.stringify(row.payload)}`);
  }
}
