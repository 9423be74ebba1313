/** What a worker costs that has nothing to do, each with its defaults. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ContenderSpec } from '../contenders/index.js';
import { logStatements } from '../server.js';
import type { Stage } from '../stage.js';
import { boss, graphile, ours, prompt } from './lines.js';
import { measured, type Sample, type Scenario } from './scenario.js';

/** Until the statements of the start are over, and how long is measured then. */
const msOf = {
  full: { settle: 5_000, measure: 20_000 },
  quick: { settle: 2_000, measure: 5_000 },
  tiny: { settle: 500, measure: 1_000 },
} as const;

export const idle: Scenario = {
  name: 'idle',
  title: () => 'An idle worker',
  metrics: [
    { key: 'statements', title: 'statements/s', digits: 2 },
    { key: 'cpu', title: '% of a core', digits: 2 },
  ],
  mostRounds: 2,
  lines(size) {
    const line = (name: string, spec: ContenderSpec) => ({
      name,
      spec,
      run: (stage: Stage) => measureIdle(stage, spec, msOf[size]),
    });
    return [line(ours, prompt[ours]), line(graphile, prompt[graphile]), line(boss, prompt[boss])];
  },
  goals(medians) {
    const statements = medians(ours, 'statements');
    const cpu = medians(ours, 'cpu');
    return [
      {
        what: 'idle worker, statements a second',
        goal: '≤ 2',
        measured: measured(statements, ''),
        reached: statements <= 2,
      },
      { what: 'idle worker, of a core', goal: '< 2 %', measured: measured(cpu, ' %'), reached: cpu < 2 },
    ];
  },
};

function measureIdle(
  stage: Stage,
  spec: ContenderSpec,
  ms: { readonly settle: number; readonly measure: number },
): Promise<Sample> {
  return stage.fresh(
    spec,
    async ({ contender, database }) => {
      await contender.call('startWorking');
      await delay(ms.settle);
      const cpuBefore = await contender.call('cpuMs');
      const statements = await database.statementsDuring(() => delay(ms.measure).then(() => {}));
      const cpu = (await contender.call('cpuMs')) - cpuBefore;
      await contender.call('stopWorking');
      return { values: { statements: statements / (ms.measure / 1_000), cpu: (cpu / ms.measure) * 100 } };
    },
    { before: logStatements },
  );
}
