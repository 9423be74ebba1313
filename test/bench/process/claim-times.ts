/** What claims of a full batch take; without the first, which also opens a connection. */
import type { Contender } from '../contenders/contender.js';

/** The worker may fill a batch from several queues and find one of them short. */
const fullFrom = 0.9;

export async function claimTimes(contender: Contender, claims: number, batch: number): Promise<number[]> {
  const times: number[] = [];
  if (contender.claimOnce) {
    while (times.length <= claims) times.push(await contender.claimOnce(batch));
    return times.slice(1);
  }
  let enough = (): void => {};
  const done = new Promise<void>((resolve) => (enough = resolve));
  const working = await contender.work?.({
    job() {},
    claimed(tookMs, jobs) {
      if (tookMs !== undefined && jobs >= batch * fullFrom) times.push(tookMs);
      if (times.length > claims) enough();
    },
  });
  if (!working) throw new Error('It cannot work.');
  await done;
  await working.stop();
  return times.slice(1, claims + 1);
}
