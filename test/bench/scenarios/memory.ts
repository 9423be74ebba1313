/** Many no-op jobs in one process that may have little memory: the heap after a collection, over time. */
import { median } from '../statistics.js';
import { best, ours } from './lines.js';
import { count, measured, type Scenario } from './scenario.js';

const jobsOf = { full: 500_000, quick: 50_000, tiny: 1_000 } as const;
const limitMb = 128;
/** A heap that grows by less than this between its fifths is flat. */
const flatMb = 2;

export const memory: Scenario = {
  name: 'memory',
  title: (size) => `Heap over ${count(jobsOf[size])} jobs under --max-old-space-size=${limitMb}`,
  metrics: [
    { key: 'first', title: 'heap MB, first fifth', digits: 1 },
    { key: 'last', title: 'last fifth', digits: 1 },
    { key: 'rss', title: 'RSS MB' },
  ],
  mostRounds: 1,
  lines: (size) => [
    {
      name: ours,
      spec: best[ours],
      run: (stage) =>
        stage.fresh(
          best[ours],
          async ({ contender }) => {
            const jobs = jobsOf[size];
            const { heapMb, rssMb } = await contender.call('drain', { jobs, points: 50, heap: true });
            const fifth = Math.floor(heapMb.length / 5);
            return {
              values: {
                first: median(heapMb.slice(0, fifth)),
                last: median(heapMb.slice(-fifth)),
                rss: rssMb,
              },
            };
          },
          {
            filled: [{ jobs: jobsOf[size] }],
            nodeOptions: [`--max-old-space-size=${limitMb}`, '--expose-gc'],
          },
        ),
    },
  ],
  goals(medians) {
    const growth = medians(ours, 'last') - medians(ours, 'first');
    return [
      {
        what: `heap growth over the jobs, under ${limitMb} MB`,
        goal: `< ${flatMb} MB`,
        measured: measured(growth, ' MB', 1),
        reached: growth < flatMb,
      },
    ];
  },
};
