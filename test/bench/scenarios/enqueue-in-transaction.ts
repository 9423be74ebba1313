/** One enqueue in a transaction of the app: the call alone, without begin and commit. */
import type { ContenderSpec } from '../contenders/index.js';
import type { Stage } from '../stage.js';
import { median, percentile } from '../statistics.js';
import { best, boss, graphile, ours } from './lines.js';
import { ratioGoal, type Scenario } from './scenario.js';

const insert = 'plain Drizzle insert';
const callsOf = { full: 1_000, quick: 500, tiny: 30 } as const;

export const enqueueInTransaction: Scenario = {
  name: 'enqueue-in-transaction',
  title: () => 'One enqueue in a Drizzle transaction: the call alone',
  metrics: [
    { key: 'p50', title: 'p50 µs' },
    { key: 'p95', title: 'p95 µs' },
  ],
  lines(size) {
    const line = (name: string, spec: ContenderSpec) => ({
      name,
      spec,
      run: (stage: Stage) =>
        stage.fresh(spec, async ({ contender }) => {
          await contender.call('timeCalls', Math.ceil(callsOf[size] / 5));
          const times = await contender.call('timeCalls', callsOf[size]);
          return { values: { p50: median(times), p95: percentile(times, 0.95) } };
        }),
    });
    return [
      line(ours, best[ours]),
      line(insert, { contender: 'plain-insert' }),
      line(graphile, best[graphile]),
      line(boss, best[boss]),
    ];
  },
  goals: (medians) => [
    ratioGoal(
      'one enqueue in a transaction, of a plain Drizzle insert',
      medians(ours, 'p50') / medians(insert, 'p50'),
      ['at most', 1.25],
    ),
  ],
};
