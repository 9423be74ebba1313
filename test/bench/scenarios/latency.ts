/**
 * From the commit of a job to its handler, by how many jobs come in a second; two processes, one clock. A job is committed
 * when its app hears so, which may be a little after the worker does.
 */
import type { ContenderSpec } from '../contenders/index.js';
import type { Stage } from '../stage.js';
import { median, percentile } from '../statistics.js';
import { randomGaps } from './arrivals.js';
import { boss, bullmqPostgres, bullmqRedis, graphile, ours, prompt } from './lines.js';
import {
  type Goal,
  type Line,
  type Metric,
  measured,
  type Sample,
  type Scenario,
  type Size,
} from './scenario.js';

const loop = 'hand-written LISTEN loop';
/** Jobs a second. */
const rates = [1, 10, 100] as const;
type Rate = (typeof rates)[number];

/**
 * How many jobs a round has at each rate: 20, 11 and 5 s of them. So the p99 of a round is its slowest job at 1/s, the
 * second slowest at 10/s and the fifth slowest at 100/s; the median of five rounds tells what a round usually has there.
 */
const jobsOf: Record<Size, Record<Rate, number>> = {
  full: { 1: 20, 10: 110, 100: 500 },
  quick: { 1: 3, 10: 20, 100: 100 },
  tiny: { 1: 1, 10: 3, 100: 10 },
};
/** At the highest rate: compiled code, and connections that are open. */
const warmUpOf = { full: 100, quick: 50, tiny: 5 } as const;
/** Lines that no goal speaks of, and that take the time of others. */
const bullmqRounds = 2;

const key = (part: 'p50' | 'p99', rate: Rate) => `${part}at${rate}`;

export const latency: Scenario = {
  name: 'latency',
  title: () =>
    'Pickup: from the commit of a job to the start of its handler, while jobs come at random times',
  metrics: rates.flatMap((rate): Metric[] => [
    { group: `${rate}/s`, key: key('p50', rate), title: 'p50 ms', digits: 2 },
    {
      group: `${rate}/s`,
      key: key('p99', rate),
      title: rate === 1 ? 'slowest ms' : 'p99 ms',
      digits: 2,
    },
  ]),
  lines(size) {
    const line = (
      name: string,
      spec: ContenderSpec,
      measuredRates: readonly Rate[] = rates,
      mostRounds?: number,
    ): Line => ({
      name,
      spec,
      mostRounds,
      run: (stage) =>
        measureLatency(stage, spec, {
          warmUp: warmUpOf[size],
          jobs: measuredRates.map((rate) => [rate, jobsOf[size][rate]]),
        }),
    });
    const spokenOf = [line(ours, prompt[ours]), line(graphile, prompt[graphile])];
    if (size === 'quick') return spokenOf; // there is no time for more than the goals speak of
    return [
      ...spokenOf,
      line(loop, { contender: 'listen-loop' }),
      line(boss, prompt[boss]),
      line(bullmqPostgres, prompt[bullmqPostgres], [10, 100], bullmqRounds),
      line(bullmqRedis, prompt[bullmqRedis], [10, 100], bullmqRounds),
    ];
  },
  goals: (medians) =>
    rates.flatMap((rate) => [
      noSlower(`p50 at ${rate}/s`, medians(ours, key('p50', rate)), medians(graphile, key('p50', rate))),
      noSlower(
        rate === 1 ? `slowest of ${jobsOf.full[1]} at ${rate}/s` : `p99 at ${rate}/s`,
        medians(ours, key('p99', rate)),
        medians(graphile, key('p99', rate)),
      ),
    ]),
};

interface Plan {
  readonly warmUp: number;
  readonly jobs: readonly (readonly [rate: Rate, jobs: number])[];
}

function measureLatency(stage: Stage, spec: ContenderSpec, { warmUp, jobs }: Plan): Promise<Sample> {
  return stage.fresh(spec, async ({ contender: worker, another }) => {
    const app = await another();
    await worker.call('startWorking');
    let enqueued = 0;
    const pickups = async (rate: Rate, count: number) => {
      const committed = await app.call('enqueueSpaced', enqueued, randomGaps(count, rate));
      enqueued += count;
      const picked = await worker.call('pickedUp', enqueued);
      const atMs = new Map(picked.map((one) => [one.n, one.atMs]));
      return committed.map((job) => (atMs.get(job.n) ?? Number.NaN) - job.atMs);
    };
    await pickups(100, warmUp);
    await Promise.all([app.call('collectGarbage'), worker.call('collectGarbage')]);
    const values: Record<string, number> = {};
    for (const [rate, count] of jobs) {
      const times = await pickups(rate, count);
      values[key('p50', rate)] = median(times);
      values[key('p99', rate)] = percentile(times, 0.99);
    }
    await worker.call('stopWorking');
    return { values };
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
