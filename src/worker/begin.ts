/** Begins claimed jobs without holding up the event loop. */

/** How long handlers may be started in one turn of the event loop. */
const turnMs = 1;

/**
 * Begins each job in order. What handlers do before their first `await` adds up: after a ms the event loop gets its turn,
 * or no heartbeat would go out while a large claim begins, and live jobs would be rescued; and the slots of jobs that end
 * at once are claimed for meanwhile.
 */
export async function beginInTurns<Job>(jobs: readonly Job[], begin: (job: Job) => void): Promise<void> {
  let turnBegan = performance.now();
  for (const job of jobs) {
    if (performance.now() - turnBegan > turnMs) {
      await new Promise((resolve) => setImmediate(resolve));
      turnBegan = performance.now();
    }
    begin(job);
  }
}
