/** What workers cost that have nothing to do, each with its defaults: one of them, and twenty in four processes. */
import { setTimeout as delay } from 'node:timers/promises';
import { backendsOf, cpuMsBetween } from '../backends.js';
import type { ContenderSpec } from '../contenders/index.js';
import { logStatements } from '../server.js';
import type { Stage } from '../stage.js';
import { boss, crowd, crowdProcesses, crowdWorkers, graphile, graphileQueue, ours, prompt } from './lines.js';
import { type Line, measured, type Sample, type Scenario, type Size } from './scenario.js';
import { startSeveral } from './several.js';

interface Times {
  /** Until the statements of the start are over. */
  readonly settle: number;
  /** How long is measured then. */
  readonly measure: number;
}

const msOf: Record<Size, { readonly one: Times; readonly many: Times }> = {
  full: { one: { settle: 5_000, measure: 20_000 }, many: { settle: 4_000, measure: 8_000 } },
  quick: { one: { settle: 1_000, measure: 2_500 }, many: { settle: 1_500, measure: 2_000 } },
  tiny: { one: { settle: 500, measure: 1_000 }, many: { settle: 500, measure: 1_000 } },
};

const many = (name: string) => `${name}, ${crowdWorkers} workers`;

export const idle: Scenario = {
  name: 'idle',
  title: () => `Idle workers: one, and ${crowdWorkers} in ${crowdProcesses} processes`,
  metrics: [
    { key: 'statements', title: 'statements/s', digits: 2 },
    { key: 'cpu', title: 'workers, % of a core', digits: 2 },
    { key: 'postgres', title: 'Postgres, % of a core', digits: 2 },
  ],
  mostRounds: 2,
  lines(size) {
    const one = (name: string, spec: ContenderSpec): Line => ({
      name,
      spec,
      run: (stage) => measureIdle(stage, spec, 1, msOf[size].one),
    });
    const twenty = (name: string, spec: ContenderSpec, mostRounds?: number): Line => ({
      name: many(name),
      spec,
      mostRounds,
      run: (stage) => measureIdle(stage, spec, crowdProcesses, msOf[size].many),
    });
    const all = [
      one(ours, prompt[ours]),
      one(graphile, prompt[graphile]),
      one(boss, prompt[boss]),
      twenty(ours, crowd[ours]),
    ];
    if (size === 'quick') return all; // there is no time for more
    return [
      ...all,
      twenty(graphile, crowd[graphile], 1),
      twenty(graphileQueue, crowd[graphileQueue], 1),
      twenty(boss, crowd[boss], 1),
    ];
  },
  goals(medians) {
    const statements = medians(ours, 'statements');
    const cpu = medians(ours, 'cpu');
    const statementsOfMany = medians(many(ours), 'statements');
    return [
      {
        what: 'idle worker, statements a second',
        goal: '≤ 2',
        measured: measured(statements, ''),
        reached: statements <= 2,
      },
      { what: 'idle worker, of a core', goal: '< 2 %', measured: measured(cpu, ' %'), reached: cpu < 2 },
      {
        what: `${crowdWorkers} idle workers, statements a second`,
        goal: `≤ ${crowdWorkers * 2}`,
        measured: measured(statementsOfMany, ''),
        reached: statementsOfMany <= crowdWorkers * 2,
      },
    ];
  },
};

function measureIdle(stage: Stage, spec: ContenderSpec, processes: number, ms: Times): Promise<Sample> {
  return stage.fresh(
    spec,
    async (bench) => {
      const { database } = bench;
      const all = await startSeveral(bench, processes);
      const cpuMs = async () => {
        const times = await Promise.all(all.map((one) => one.call('cpuMs')));
        return times.reduce((sum, one) => sum + one, 0);
      };
      await Promise.all(all.map((one) => one.call('startWorking')));
      await delay(ms.settle);
      const backends = await backendsOf(database);
      const cpuBefore = await cpuMs();
      const statements = await database.statementsDuring(() => delay(ms.measure).then(() => {}));
      const cpu = (await cpuMs()) - cpuBefore;
      const backendsAfter = await backendsOf(database);
      await Promise.all(all.map((one) => one.call('stopWorking')));
      return {
        values: {
          statements: statements / (ms.measure / 1_000),
          cpu: (cpu / ms.measure) * 100,
          postgres: (cpuMsBetween(backends, backendsAfter) / (backendsAfter.atMs - backends.atMs)) * 100,
        },
      };
    },
    { before: logStatements },
  );
}
