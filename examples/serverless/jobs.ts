/** What jobs there are. */
import { createQueue, defineJobs, job } from 'drizzle-queue';

export const registry = defineJobs({
  sendMail: job<{ to: string }>({ retry: () => 60_000 }).queue('mail'),
});
export const queue = createQueue(registry);
