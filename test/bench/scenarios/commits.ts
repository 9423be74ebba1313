/** What enqueuing does to an app: transactions a second over 32 connections, one insert of the app and one job in each. */
import type { ContenderSpec } from '../contenders/index.js';
import type { Stage } from '../stage.js';
import { best, boss, graphile, ours } from './lines.js';
import { ratioGoal, type Scenario } from './scenario.js';

const insert = 'plain inserts, no wake-up';
const notify = 'plain inserts, pg_notify in each';
const connections = 32;
const msOf = { full: 5_000, quick: 2_000, tiny: 300 } as const;

export const commits: Scenario = {
  name: 'commits',
  title: () => `Commits a second of an app on ${connections} connections, one job in each`,
  metrics: [{ key: 'perSecond', title: 'commits/s' }],
  lines(size) {
    const line = (name: string, spec: ContenderSpec) => ({
      name,
      spec,
      run: (stage: Stage) =>
        stage.fresh(spec, async ({ contender, database }) => {
          await database.settle();
          return { values: { perSecond: await contender.call('commits', connections, msOf[size]) } };
        }),
    });
    return [
      line(ours, best[ours]),
      line(insert, { contender: 'plain-insert' }),
      line(notify, { contender: 'plain-insert', notify: true }),
      line(graphile, best[graphile]),
      line(boss, best[boss]),
    ];
  },
  goals: (medians) => [
    ratioGoal(
      `commit rate at ${connections} connections, of plain inserts without a wake-up`,
      medians(ours, 'perSecond') / medians(insert, 'perSecond'),
      ['at least', 0.9],
    ),
  ],
};
