/** The claim when a million jobs wait, beside the claim when a thousand do. */
import type { ContenderSpec } from '../contenders/index.js';
import { claimLine, claimMetrics } from './claim-lines.js';
import { boss, graphile, ours } from './lines.js';
import { count, ratioGoal, type Scenario, type Size } from './scenario.js';

const batch = 10;
const waitingOf: Record<Size, number> = { full: 1_000_000, quick: 100_000, tiny: 2_000 };

export const claimers = {
  [ours]: { contender: 'drizzle-queue', driver: 'postgres.js', slots: batch },
  [graphile]: { contender: 'graphile-worker', localQueue: batch, concurrentJobs: batch },
  [boss]: { contender: 'pg-boss' },
} as const satisfies Record<string, ContenderSpec>;

const few = (name: string) => `${name}, 1,000 waiting`;
const many = (name: string) => `${name}, a backlog`;

export const backlog: Scenario = {
  name: 'backlog',
  title: (size) => `Claims of ${batch} jobs before a backlog of ${count(waitingOf[size])}`,
  metrics: claimMetrics,
  lines: (size) =>
    Object.entries(claimers).flatMap(([name, spec]) => [
      claimLine(size, { name: few(name), spec, batch }),
      claimLine(size, { name: many(name), spec, batch, filled: [{ jobs: waitingOf[size] }] }),
    ]),
  goals: (medians) => [
    ratioGoal(
      'claim before a backlog, p95, of 1,000 waiting',
      medians(many(ours), 'p95') / medians(few(ours), 'p95'),
      ['at most', 1.5],
    ),
  ],
};
