/**
 * The route that a cron service calls, once a minute or so: it works on what is due and answers with what it did. A function
 * from `Request` to `Response`, as Next.js (`export { tick as GET }`), Hono, SvelteKit, Bun and others take it.
 */
import { createWorker } from 'drizzle-queue/worker';
import { db } from './database.js';
import { registry } from './jobs.js';

// Made once for an instance, and used by each call.
const worker = createWorker({
  db,
  registry,
  queues: { mail: 2 },
  handlers: {
    sendMail: async ({ to }, job) => {
      if (to === 'nobody') return job.discard('there is no such address');
      if (to === 'busy') throw new Error('the mail server is busy');
      console.log(`mail to ${to}`);
    },
  },
  log: false,
});

export async function tick(request: Request): Promise<Response> {
  if (request.headers.get('authorization') !== `Bearer ${process.env['CRON_SECRET']}`) {
    return new Response('Not for you.', { status: 401 });
  }
  // Less than the platform's limit: after it, the process is frozen or killed.
  return Response.json(await worker.runOnce({ budgetMs: 8_000 }));
}
