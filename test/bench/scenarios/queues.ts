/** The claim of a worker that serves fifty queues, beside one that serves a single one: as many jobs in each claim. */
import { claimLine, claimMetrics } from './claim-lines.js';
import { ratioGoal, type Scenario } from './scenario.js';

const queues = 50;
const one = 'drizzle-queue, one queue';
const many = `drizzle-queue, ${queues} queues`;

export const queuesScenario: Scenario = {
  name: 'queues',
  title: () => `Claims of ${queues} jobs from ${queues} queues`,
  metrics: claimMetrics,
  lines: (size) => [
    claimLine(size, {
      name: one,
      spec: { contender: 'drizzle-queue', driver: 'postgres.js', slots: queues },
      batch: queues,
    }),
    claimLine(size, {
      name: many,
      spec: { contender: 'drizzle-queue', driver: 'postgres.js', slots: 1, queues },
      batch: queues,
      queues,
    }),
  ],
  goals: (medians) => [
    ratioGoal(`claim from ${queues} queues, p95, of one`, medians(many, 'p95') / medians(one, 'p95'), [
      'at most',
      1.5,
    ]),
  ],
};
