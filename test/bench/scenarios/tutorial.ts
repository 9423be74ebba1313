/** The plainest queue: four workers that take twenty jobs each, beside the loop of the tutorials. */
import type { ContenderSpec } from '../contenders/index.js';
import type { Stage } from '../stage.js';
import { measureDrain } from './drain.js';
import { ours } from './lines.js';
import { count, ratioGoal, type Scenario } from './scenario.js';

const loop = 'tutorial loop';
const workers = 4;
const batch = 20;
const jobsOf = { full: 5_000, quick: 5_000, tiny: 200 } as const;
/** So many that the code of either is compiled: the measured drain lasts less than a second. */
const warmUpOf = { full: 20_000, quick: 10_000, tiny: 100 } as const;

export const tutorial: Scenario = {
  name: 'tutorial',
  title: (size) => `The plainest queue: ${workers} workers, batches of ${batch}, ${count(jobsOf[size])} jobs`,
  metrics: [{ key: 'jobsPerSecond', title: 'jobs/s' }],
  lines(size) {
    const line = (name: string, spec: ContenderSpec) => ({
      name,
      spec,
      run: (stage: Stage) => measureDrain(stage, spec, jobsOf[size], warmUpOf[size]),
    });
    return [
      line(ours, { contender: 'drizzle-queue', driver: 'postgres.js', workers, slots: batch }),
      line(loop, { contender: 'tutorial', workers, batch }),
    ];
  },
  goals(medians) {
    const ratio = medians(ours, 'jobsPerSecond') / medians(loop, 'jobsPerSecond');
    return [ratioGoal('the plainest queue, of the tutorial loop', ratio, ['at least', 3])];
  },
};
