/** The claim when jobs of higher priority wait for tomorrow. */
import { claimers } from './backlog.js';
import { claimLine, claimMetrics } from './claim-lines.js';
import { ours } from './lines.js';
import { count, ratioGoal, type Scenario, type Size } from './scenario.js';

const batch = 10;
const dayMs = 86_400_000;
const futureOf: Record<Size, number> = { full: 500_000, quick: 50_000, tiny: 2_000 };

const alone = (name: string) => `${name}, 1,000 due`;
const behind = (name: string) => `${name}, behind future jobs`;

export const future: Scenario = {
  name: 'future',
  title: (size) => `Claims of ${batch} jobs behind ${count(futureOf[size])} future ones of higher priority`,
  metrics: claimMetrics,
  lines: (size) =>
    Object.entries(claimers).flatMap(([name, spec]) => [
      claimLine(size, { name: alone(name), spec, batch }),
      claimLine(size, {
        name: behind(name),
        spec,
        batch,
        filled: [{ jobs: futureOf[size], priority: 10, delayMs: dayMs }],
      }),
    ]),
  goals: (medians) => [
    ratioGoal(
      'claim behind future jobs of higher priority, p95, of 1,000 due',
      medians(behind(ours), 'p95') / medians(alone(ours), 'p95'),
      ['at most', 1.5],
    ),
  ],
};
