/** What the scenarios about the claim have in common: the time that claims take, on tables of various contents. */
import type { ContenderSpec } from '../contenders/index.js';
import type { FreshOptions } from '../stage.js';
import { median, percentile } from '../statistics.js';
import type { Line, Metric, Size } from './scenario.js';

/** Batches that wait for the claims of one cycle, 1,000 jobs at ten in each; as many come back before the next. */
const batches = 100;
const cyclesOf: Record<Size, number> = { full: 6, quick: 3, tiny: 2 };

export const claimMetrics: readonly Metric[] = [
  { key: 'p50', title: 'p50 ms', digits: 2 },
  { key: 'p95', title: 'p95 ms', digits: 2 },
];

interface ClaimLine {
  readonly name: string;
  readonly spec: ContenderSpec;
  /** Jobs in one claim. */
  readonly batch: number;
  /** Jobs that lie there beside the claimable ones. */
  readonly filled?: FreshOptions['filled'];
  /** Spread the claimable jobs over so many queues. */
  readonly queues?: number;
}

export function claimLine(size: Size, { name, spec, batch, filled, queues }: ClaimLine): Line {
  return {
    name,
    spec,
    run: (stage) =>
      stage.fresh(
        spec,
        async ({ contender, database }) => {
          const times: number[] = [];
          for (let cycle = 0; cycle < cyclesOf[size]; cycle++) {
            await contender.call('fill', batches * batch, queues ? { queues } : {});
            if (cycle === 0) await database.settle();
            // Not all: claims that find less than a batch count for nothing, and would be waited for.
            const taken = await contender.call('claimTimes', batches * 0.8, batch);
            if (cycle > 0) times.push(...taken); // the first one is the warm-up
          }
          return { values: { p50: median(times), p95: percentile(times, 0.95) } };
        },
        { filled },
      ),
  };
}
