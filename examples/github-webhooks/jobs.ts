/**
 * What jobs there are. The receiver imports this to enqueue, the worker to run; no handler is in here.
 */
import { createQueue, defineJobs, job } from 'drizzle-queue';

/** Quick settings, for a demo that ends within a minute: the defaults are rescue after 60 s and a slower backoff. */
const rescueAfterMs = 5_000;

export const registry = defineJobs({
  /** Hands the event on over HTTP. At least once: the other side knows repeats by their idempotency key. */
  deliver: job<{ eventId: number }>({
    maxAttempts: 8,
    timeoutMs: 10_000,
    rescueAfterMs,
    retry: (_error, attempt) => Math.min(250 * 2 ** attempt, 2_000),
  }).queue('deliveries'),

  /** Counts the event for its repository, exactly once. */
  index: job<{ eventId: number }>({ rescueAfterMs, retry: () => 500 }),
});

/** Refuses to enqueue outside of a transaction, so that no job can exist without its event. */
export const queue = createQueue(registry, { requireTransaction: true });
