/** More worker processes on one table, and a hundred workers on one Postgres: what they get done, and what they cost. */
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until.js';
import { backendsOf, countersOf, cpuMsBetween } from '../backends.js';
import type { ContenderSpec } from '../contenders/index.js';
import type { ContenderProcess } from '../process/contender-process.js';
import { monotonicMs } from '../process/monotonic.js';
import { logStatements } from '../server.js';
import type { Bench, Stage } from '../stage.js';
import { median, percentile } from '../statistics.js';
import { best, boss, graphile, ours } from './lines.js';
import {
  count,
  type Goal,
  type Line,
  type Medians,
  ratioGoal,
  type Sample,
  type Scenario,
} from './scenario.js';
import { startSeveral } from './several.js';

const sizes = {
  full: { jobs: 80_000, slowJobs: 8_000, manyJobs: 5_000, repeats: 2, settleMs: 5_000, idleMs: 20_000 },
  // The first of the three runs code that is not compiled yet, which is most of what eight processes have to do then.
  quick: { jobs: 30_000, slowJobs: 1_000, manyJobs: 500, repeats: 3, settleMs: 2_000, idleMs: 3_000 },
  tiny: { jobs: 20_000, slowJobs: 200, manyJobs: 500, repeats: 1, settleMs: 1_000, idleMs: 1_000 },
} as const;
/**
 * How many processes work; the first list is the one of the goals. A process takes most of a second of CPU to start, so
 * the small runs leave some out.
 */
const processesOf = {
  full: { ours: [1, 2, 4, 8], slow: [1, 2, 4, 8], peers: [1, 8], idle: true },
  quick: { ours: [1, 2, 4, 8], slow: [1, 2], peers: [], idle: false },
  tiny: { ours: [1, 2, 4, 8], slow: [1], peers: [1], idle: true },
} as const;
/** Of the jobs, before the measurement begins: all processes are at work then, and run compiled code. */
const warmUp = 0.25;
const longestDrainMs = 120_000;

const slowMs = 10;
const slow = `${ours}, jobs of ${slowMs} ms`;
const manyProcesses = 4;
const hundred: ContenderSpec = { contender: 'drizzle-queue', driver: 'postgres.js', slots: 1, workers: 25 };
const hundredDrain = '100 workers of one slot';
const hundredIdle = '100 workers of one slot, idle';

function withSlots(slots: number): ContenderSpec {
  return { contender: 'drizzle-queue', driver: 'postgres.js', slots };
}

/** The name of a line; the chart reads it. */
const by = (name: string, processes: number) =>
  `${name}, ${processes} ${processes === 1 ? 'process' : 'processes'}`;

export const scale: Scenario = {
  name: 'scale',
  title: (size) =>
    `Drain of ${count(sizes[size].jobs)} no-op jobs, and of ${count(sizes[size].slowJobs)} jobs of ${slowMs} ms, by several processes`,
  metrics: [
    { key: 'jobsPerSecond', title: 'jobs/s' },
    { key: 'p50', title: 'claim ms, p50', digits: 1 },
    { key: 'p95', title: 'p95', digits: 1 },
    { key: 'perJob', title: 'transactions/job', digits: 3 },
    { key: 'connections', title: 'connections' },
    { key: 'deadlocks', title: 'deadlocks' },
    { key: 'errors', title: 'errors' },
    { key: 'cpuUs', title: 'Postgres CPU µs/job' },
    { key: 'wal', title: 'WAL bytes/job' },
    { key: 'statements', title: 'idle statements/s', digits: 1 },
    { key: 'postgres', title: 'idle Postgres, % of a core', digits: 1 },
  ],
  // The same processes drain several times instead, and no median hides a deadlock.
  mostRounds: 1,
  lines(size) {
    const { jobs, slowJobs, manyJobs, repeats, settleMs } = sizes[size];
    const processes = processesOf[size];
    const drains = (
      name: string,
      spec: ContenderSpec,
      counts: readonly number[],
      drain: DrainOptions,
    ): Line[] =>
      counts.map((processes) => ({
        name: by(name, processes),
        spec,
        run: (stage) => measureDrain(stage, spec, processes, repeats, drain),
      }));
    const many = { jobs: manyJobs, workFirstMs: settleMs };
    const lines: Line[] = [
      ...drains(ours, withSlots(100), processes.ours, { jobs }),
      ...drains(slow, withSlots(20), processes.slow, { jobs: slowJobs, jobMs: slowMs }),
      ...drains(graphile, best[graphile], processes.peers, { jobs }),
      ...drains(boss, best[boss], processes.peers, { jobs }),
      ...drains(hundredDrain, hundred, [manyProcesses], many),
    ];
    if (!processes.idle) return lines;
    return [...lines, { name: hundredIdle, spec: hundred, run: (stage) => measureIdle(stage, sizes[size]) }];
  },
  goals(medians) {
    const rate = (processes: number) => medians(by(ours, processes), 'jobsPerSecond');
    const drains = [...processesOf.full.ours.map((n) => by(ours, n)), by(hundredDrain, manyProcesses)];
    return [
      ratioGoal(
        'drain by 8 processes, of the best of 1 to 4',
        rate(8) / Math.max(rate(1), rate(2), rate(4)),
        ['at least', 0.8],
      ),
      ...['deadlocks', 'errors'].map((metric) => none(metric, drains, medians)),
    ];
  },
};

function none(metric: string, lines: readonly string[], medians: Medians): Goal {
  const sum = lines.reduce((all, line) => all + medians(line, metric), 0);
  return {
    what: `${metric} of 1 to 8 processes, and of 100 workers`,
    goal: '0',
    measured: Number.isFinite(sum) ? `${sum}` : 'not measured',
    reached: sum === 0,
  };
}

interface DrainOptions {
  readonly jobs: number;
  /** What a handler takes. @default 0 */
  readonly jobMs?: number;
  /** The workers are there for so long when the jobs come; else the jobs are there before the workers. */
  readonly workFirstMs?: number;
}

function measureDrain(
  stage: Stage,
  spec: ContenderSpec,
  processes: number,
  repeats: number,
  drain: DrainOptions,
): Promise<Sample> {
  return stage.fresh(spec, async (bench) => {
    const all = await startSeveral(bench, processes);
    const drained: Drained[] = [];
    for (let n = 0; n < repeats; n++) drained.push(await drainOnce(bench, all, drain));
    await Promise.all(all.map((one) => one.end()));
    const { deadlocks, transactions } = await countersOf(bench.database);
    const tookMs = drained.flatMap(({ claimsMs }) => claimsMs);
    return {
      values: {
        jobsPerSecond: median(drained.map(({ jobsPerSecond }) => jobsPerSecond)),
        p50: median(tookMs),
        p95: percentile(tookMs, 0.95),
        perJob: transactions / (repeats * drain.jobs),
        connections: Math.max(...drained.map(({ connections }) => connections)),
        deadlocks,
        // Peers are not asked.
        ...(spec.contender === 'drizzle-queue'
          ? { errors: drained.reduce((sum, { errors }) => sum + errors, 0) }
          : {}),
        cpuUs: median(drained.map(({ cpuUs }) => cpuUs)),
        wal: median(drained.map(({ walBytes }) => walBytes)),
      },
    };
  });
}

interface Drained {
  readonly jobsPerSecond: number;
  readonly claimsMs: readonly number[];
  readonly connections: number;
  readonly errors: number;
  /** For each job, of the processes that serve connections. */
  readonly cpuUs: number;
  /** For each job. */
  readonly walBytes: number;
}

async function drainOnce(
  { contender, database }: Bench,
  all: readonly ContenderProcess[],
  { jobs, jobMs = 0, workFirstMs }: DrainOptions,
): Promise<Drained> {
  const work = () => Promise.all(all.map((one) => one.call('share', { jobMs })));
  if (workFirstMs === undefined) {
    await contender.call('fill', jobs);
    await database.settle();
    await work();
  } else {
    await work();
    await delay(workFirstMs);
    await contender.call('fill', jobs);
  }
  await whenBegun(all, jobs * warmUp);
  const before = await backendsOf(database);
  const from = await whenBegun(all, 0); // more have begun meanwhile
  await whenBegun(all, jobs);
  const endedAt = await contender.call('finishedAt');
  const after = await backendsOf(database);
  const shared = await Promise.all(all.map((one) => one.call('stopSharing')));
  const measured = jobs - from.begun;
  if (measured === 0)
    throw new Error(`the ${jobs} jobs had all begun before the measurement did: give it more`);
  return {
    jobsPerSecond: measured / ((endedAt - from.atMs) / 1_000),
    claimsMs: shared.flatMap(({ claims }) =>
      claims.filter(({ atMs }) => atMs >= from.atMs).map(({ tookMs }) => tookMs),
    ),
    connections: after.connections,
    errors: shared.reduce((sum, { errors }) => sum + errors, 0),
    cpuUs: (cpuMsBetween(before, after) * 1_000) / measured,
    walBytes: (after.walBytes - before.walBytes) / measured,
  };
}

function measureIdle(
  stage: Stage,
  { settleMs, idleMs }: { readonly settleMs: number; readonly idleMs: number },
): Promise<Sample> {
  return stage.fresh(
    hundred,
    async (bench) => {
      const { database } = bench;
      const all = await startSeveral(bench, manyProcesses);
      await Promise.all(all.map((one) => one.call('share', {})));
      await delay(settleMs);
      const before = await backendsOf(database);
      const statements = await database.statementsDuring(() => delay(idleMs).then(() => {}));
      const after = await backendsOf(database);
      const shared = await Promise.all(all.map((one) => one.call('stopSharing')));
      return {
        values: {
          connections: after.connections,
          errors: shared.reduce((sum, { errors }) => sum + errors, 0),
          statements: statements / (idleMs / 1_000),
          postgres: (cpuMsBetween(before, after) / (after.atMs - before.atMs)) * 100,
        },
      };
    },
    { before: logStatements },
  );
}

/** When so many handlers had been called in all processes, and how many that were. */
async function whenBegun(
  all: readonly ContenderProcess[],
  jobs: number,
): Promise<{ readonly atMs: number; readonly begun: number }> {
  let begun = 0;
  let atMs = 0;
  await until(
    async () => {
      // Before the answers, which a busy process gives late: what begins until then must not look faster than it was.
      atMs = monotonicMs();
      const counts = await Promise.all(all.map((one) => one.call('begun')));
      begun = counts.reduce((sum, some) => sum + some, 0);
      return begun >= jobs;
    },
    { what: `${jobs} jobs to have begun`, timeoutMs: longestDrainMs },
  );
  return { atMs, begun };
}
