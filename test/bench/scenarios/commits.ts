/** What enqueuing does to an app: transactions a second over 32 connections, one insert of the app and one job in each. */
import type { ContenderSpec } from '../contenders/index.js';
import type { Stage } from '../stage.js';
import { best, boss, graphile, ours } from './lines.js';
import { type Line, ratioGoal, type Sample, type Scenario } from './scenario.js';

const noWake = 'drizzle-queue, wake: false';
const insert = 'plain inserts, no wake-up';
const notify = 'plain inserts, pg_notify in each';
const connections = 32;
const msOf = { full: 4_000, quick: 1_500, tiny: 300 } as const;

/** The same beside a worker in a process of its own, which listens, and gets the jobs done. */
const atWork = (name: string) => `${name}, a worker at work`;

export const commits: Scenario = {
  name: 'commits',
  title: () => `Commits a second of an app on ${connections} connections, one job in each`,
  metrics: [
    { key: 'perSecond', title: 'commits/s' },
    // Who lets the app have all of the machine gets less of the jobs done meanwhile.
    { key: 'begun', title: 'jobs begun meanwhile/s' },
  ],
  lines(size) {
    const line = (name: string, spec: ContenderSpec): Line => ({
      name,
      spec,
      run: (stage) => measureCommits(stage, spec, msOf[size]),
    });
    const lineAtWork = (name: string, spec: ContenderSpec): Line => ({
      name: atWork(name),
      spec,
      mostRounds: 3,
      run: (stage) => measureAtWork(stage, spec, msOf[size]),
    });
    const all = [
      line(ours, best[ours]),
      line(noWake, { ...best[ours], wake: false }),
      line(insert, { contender: 'plain-insert' }),
      line(notify, { contender: 'plain-insert', notify: true }),
      line(graphile, best[graphile]),
      line(boss, best[boss]),
    ];
    if (size === 'quick') return all; // there is no time for more
    return [
      ...all,
      lineAtWork(ours, best[ours]),
      lineAtWork(graphile, best[graphile]),
      lineAtWork(boss, { ...best[boss], notify: true }),
    ];
  },
  goals(medians) {
    const rate = (line: string) => medians(line, 'perSecond');
    return [
      ratioGoal(
        `commit rate at ${connections} connections, of plain inserts without a wake-up`,
        rate(ours) / rate(insert),
        ['at least', 0.9],
      ),
      ratioGoal(
        `commit rate at ${connections} connections, of the same with wake: false`,
        rate(ours) / rate(noWake),
        ['at least', 0.9],
      ),
    ];
  },
};

function measureCommits(stage: Stage, spec: ContenderSpec, ms: number): Promise<Sample> {
  return stage.fresh(spec, async ({ contender, database }) => {
    await database.settle();
    return { values: { perSecond: await contender.call('commits', connections, ms) } };
  });
}

function measureAtWork(stage: Stage, spec: ContenderSpec, ms: number): Promise<Sample> {
  return stage.fresh(spec, async ({ contender, database, another }) => {
    const worker = await another();
    await worker.call('share', {});
    await database.settle();
    const perSecond = await contender.call('commits', connections, ms);
    const begun = await worker.call('begun');
    await worker.call('stopSharing');
    return { values: { perSecond, begun: begun / (ms / 1_000) } };
  });
}
