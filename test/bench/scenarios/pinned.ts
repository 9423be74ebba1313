/** A long drain while an old transaction keeps every dead row in place. */
import type { ContenderSpec } from '../contenders/index.js';
import type { Drained } from '../process/drain.js';
import type { Stage } from '../stage.js';
import { median } from '../statistics.js';
import { best, boss, graphile, ours } from './lines.js';
import { count, ratioGoal, type Sample, type Scenario } from './scenario.js';

const loop = 'hand-written loop';
const jobsOf = { full: 300_000, quick: 30_000, tiny: 4_000 } as const;

export const pinned: Scenario = {
  name: 'pinned',
  title: (size) =>
    `Drain of ${count(jobsOf[size])} jobs under a pinned snapshot: the last fifth beside the first`,
  metrics: [
    { key: 'jobsPerSecond', title: 'jobs/s' },
    { key: 'rate', title: 'rate, last/first', digits: 2 },
    { key: 'firstClaim', title: 'claim ms, first', digits: 2 },
    { key: 'lastClaim', title: 'last', digits: 2 },
    { key: 'claim', title: 'last/first', digits: 2 },
  ],
  mostRounds: 3,
  lines(size) {
    const jobs = jobsOf[size];
    const line = (name: string, spec: ContenderSpec) => ({
      name,
      spec,
      run: (stage: Stage) => measurePinned(stage, spec, jobs),
    });
    return [
      line(ours, best[ours]),
      line(loop, { contender: 'loop', statements: 'plain' }),
      line(graphile, best[graphile]),
      line(boss, best[boss]),
    ];
  },
  goals: (medians) => [
    ratioGoal('claim under a pinned snapshot, last fifth of the first', medians(ours, 'claim'), [
      'at most',
      1.2,
    ]),
  ],
};

function measurePinned(stage: Stage, spec: ContenderSpec, jobs: number): Promise<Sample> {
  return stage.fresh(
    spec,
    async ({ contender, database }) => {
      await database.settle();
      const unpin = await database.pin();
      try {
        const drained = await contender.call('drain', { jobs });
        return { values: valuesOf(drained, jobs), overTime: forChart(drained.progress) };
      } finally {
        await unpin();
      }
    },
    { filled: [{ jobs }] },
  );
}

/** Every second point, in whole ms: it goes into a file that is committed. */
function forChart(progress: Drained['progress']): Drained['progress'] {
  return progress.filter((_, i) => i % 2 === 1).map(({ atMs, jobs }) => ({ atMs: Math.round(atMs), jobs }));
}

function valuesOf({ ms, progress, claims }: Drained, jobs: number): Record<string, number> {
  const msOf = (from: number, to: number) => {
    const within = progress.filter((point) => point.jobs >= from * jobs && point.jobs <= to * jobs);
    return (within.at(-1)?.atMs ?? Number.NaN) - (within[0]?.atMs ?? Number.NaN);
  };
  const claimOf = (from: number, to: number) =>
    median(
      claims
        .filter(({ afterJobs }) => afterJobs >= from * jobs && afterJobs < to * jobs)
        .map(({ tookMs }) => tookMs),
    );
  const values = { jobsPerSecond: jobs / (ms / 1_000), rate: msOf(0, 0.2) / msOf(0.8, 1) };
  if (claims.length === 0) return values;
  const [firstClaim, lastClaim] = [claimOf(0, 0.2), claimOf(0.8, 1)];
  return { ...values, firstClaim, lastClaim, claim: lastClaim / firstClaim };
}
