/**
 * The route that a cron service calls, once a minute or so: it works on what is due, and answers with what it did. A function
 * from `Request` to `Response`, as Next.js (`export { tick as GET }`), Hono, SvelteKit, Bun and others take it.
 */
import { createQueue, type Database, defineJobs, job } from 'drizzle-queue';
import { createWorker } from 'drizzle-queue/worker';

const registry = defineJobs({ sendMail: job<{ to: string }>({ retry: () => 60_000 }).queue('mail') });
export const queue = createQueue(registry);

/** Once for an instance: its calls share the worker, and the worker the app's pool. */
export function makeTick(db: Database, secret: string): (request: Request) => Promise<Response> {
  const worker = createWorker({
    db,
    registry,
    queues: { mail: 1 },
    log: false,
    handlers: {
      sendMail: async ({ to }, job) => {
        if (to === 'nobody') return job.discard('there is no such address');
        if (to === 'busy') throw new Error('the mail server is busy');
        console.log(`mail to ${to}`);
      },
    },
  });
  return async (request) => {
    if (request.headers.get('authorization') !== `Bearer ${secret}`)
      return new Response('no', { status: 401 });
    // Less than the platform's limit, after which the process is frozen or killed.
    return Response.json(await worker.runOnce({ budgetMs: 8_000 }));
  };
}
