/** From the commit of a job to its handler in an idle worker; two processes, one clock. */
import type { ContenderSpec } from '../contenders/index.js';
import type { Stage } from '../stage.js';
import { median, percentile } from '../statistics.js';
import { boss, bullmqPostgres, bullmqRedis, graphile, ours, prompt } from './lines.js';
import { type Goal, measured, type Sample, type Scenario } from './scenario.js';

const loop = 'hand-written LISTEN loop';
const jobsOf = { full: 60, quick: 20, tiny: 8 } as const;
/** Apart enough for a worker to be idle again, and never in step with its polls. */
const gapMs = { full: [80, 200], quick: [50, 150], tiny: [5, 20] } as const;
const warmUp = 5;

export const latency: Scenario = {
  name: 'latency',
  title: () => 'Pickup after commit by an idle worker',
  metrics: [
    { key: 'p50', title: 'p50 ms', digits: 2 },
    { key: 'p99', title: 'p99 ms', digits: 2 },
  ],
  lines(size) {
    const line = (name: string, spec: ContenderSpec) => ({
      name,
      spec,
      run: (stage: Stage) => measureLatency(stage, spec, jobsOf[size] + warmUp, gapMs[size]),
    });
    return [
      line(ours, prompt[ours]),
      line(loop, { contender: 'listen-loop' }),
      line(graphile, prompt[graphile]),
      line(boss, prompt[boss]),
      line(bullmqPostgres, prompt[bullmqPostgres]),
      line(bullmqRedis, prompt[bullmqRedis]),
    ];
  },
  goals: (medians) =>
    ['p50', 'p99'].map((metric) => noSlower(metric, medians(ours, metric), medians(graphile, metric))),
};

function measureLatency(
  stage: Stage,
  spec: ContenderSpec,
  jobs: number,
  gap: readonly [number, number],
): Promise<Sample> {
  return stage.fresh(spec, async ({ contender: worker, another }) => {
    const app = await another();
    await worker.call('startWorking');
    const committed = await app.call('enqueueSpaced', jobs, gap);
    const picked = new Map(await worker.call('pickedUp', jobs));
    await worker.call('stopWorking');
    const times = committed.slice(warmUp).map(([n, atMs]) => (picked.get(n) ?? Number.NaN) - atMs);
    return { values: { p50: median(times), p99: percentile(times, 0.99) } };
  });
}

function noSlower(metric: string, mine: number, theirs: number): Goal {
  return {
    what: `pickup after commit, ${metric}`,
    goal: `≤ graphile-worker's ${measured(theirs, ' ms')}`,
    measured: measured(mine, ' ms'),
    reached: mine <= theirs,
  };
}
