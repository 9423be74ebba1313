/** Bulk enqueue: no-op jobs, 5,000 to a call where the contender takes lists. */
import type { ContenderSpec } from '../contenders/index.js';
import type { Stage } from '../stage.js';
import { best, boss, bullmqPostgres, bullmqRedis, graphile, ours, oursOnPg } from './lines.js';
import { count, ratioGoal, type Scenario } from './scenario.js';

const raw = 'raw jsonb_to_recordset';
const jobsOf = {
  full: { most: 50_000, slow: 10_000 },
  quick: { most: 20_000, slow: 2_000 },
  tiny: { most: 500, slow: 100 },
} as const;

export const enqueue: Scenario = {
  name: 'enqueue',
  title: (size) => `Bulk enqueue of ${count(jobsOf[size].most)} jobs by one process`,
  metrics: [{ key: 'jobsPerSecond', title: 'jobs/s' }],
  lines(size) {
    const { most, slow } = jobsOf[size];
    const line = (name: string, spec: ContenderSpec, jobs: number = most) => ({
      name,
      spec,
      run: (stage: Stage) =>
        stage.fresh(spec, async ({ contender, database }) => {
          await contender.call('fill', Math.ceil(jobs / 2)); // compiled code, and a table that has its pages
          await database.settle();
          const ms = await contender.call('fill', jobs);
          return { values: { jobsPerSecond: jobs / (ms / 1_000) } };
        }),
    });
    return [
      line(ours, best[ours]),
      line(raw, { contender: 'plain-insert' }),
      line(oursOnPg, best[oursOnPg]),
      line(graphile, best[graphile]),
      line(boss, best[boss]),
      line(bullmqPostgres, best[bullmqPostgres], slow),
      line(bullmqRedis, best[bullmqRedis]),
    ];
  },
  goals(medians) {
    const rate = (line: string) => medians(line, 'jobsPerSecond');
    return [
      ratioGoal('bulk enqueue, of graphile-worker', rate(ours) / rate(graphile), ['at least', 2]),
      ratioGoal('bulk enqueue, of pg-boss', rate(ours) / rate(boss), ['at least', 2]),
      ratioGoal('bulk enqueue, of raw jsonb_to_recordset', rate(ours) / rate(raw), ['at least', 0.9]),
    ];
  },
};
