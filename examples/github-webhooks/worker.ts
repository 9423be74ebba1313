/**
 * The worker process: the handlers of both kinds. Start as many as you like; SIGTERM lets running jobs end.
 *
 * Its environment: `DATABASE_URL`, `SINK_URL` (where events are delivered to), `WORKER_NAME`.
 */
import { eq, sql } from 'drizzle-orm';
import { createWorker, Discard } from 'drizzle-queue/worker';
import { recordClaimEnds } from './claim-ends.js';
import { connect, required } from './database.js';
import { registry } from './jobs.js';
import { activity, events } from './schema.js';

const name = required('WORKER_NAME');
const sinkUrl = required('SINK_URL');
const db = connect(required('DATABASE_URL'), name);

const worker = createWorker({
  db,
  registry,
  queues: { deliveries: 4, default: 4 },
  heartbeatMs: 1_000,
  pollIntervalMs: 250,
  graceMs: 5_000,
  handlers: {
    async deliver({ eventId }, job) {
      const event = await eventOf(eventId);
      const response = await fetch(sinkUrl, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': name,
          'x-github-event': event.name,
          'x-github-delivery': event.deliveryId,
          'idempotency-key': `${job.id}`, // the same for every attempt
        },
        body: JSON.stringify(event.payload),
        signal: job.signal,
      });
      const answer = await response.text();
      if (response.status === 422) throw new Discard(`422: ${answer}`); // no later attempt would change that
      if (!response.ok) throw new Error(`${response.status}: ${answer}`); // tried again, see `retry` in jobs.ts
    },

    async index({ eventId }, job) {
      const { repository } = await eventOf(eventId);
      // The count and the job's end commit together: a worker killed here leaves neither, and no event counts twice.
      await db.transaction(async (tx) => {
        await tx.update(events).set({ indexedAt: sql`now()` }).where(eq(events.id, eventId));
        if (repository) {
          await tx
            .insert(activity)
            .values({ repository, events: 1 })
            .onConflictDoUpdate({
              target: activity.repository,
              set: { events: sql`${activity.events} + 1` },
            });
        }
        await job.complete(tx);
      });
    },
  },
});

async function eventOf(id: number): Promise<typeof events.$inferSelect> {
  const [event] = await db.select().from(events).where(eq(events.id, id));
  if (!event) throw new Discard(`There is no event ${id}.`);
  return event;
}

// When the process that started this one is gone without a signal, nobody is left to stop it.
process.once('disconnect', () => process.exit(1));
if (process.connected === false) process.exit(1); // gone already; undefined for a worker started by hand
process.channel?.unref();

const recorded = recordClaimEnds(worker, db);
await worker.run();
await recorded();
await db.$client.end({ timeout: 5 });
