/** The tables that the README shows, as Markdown: what it says of speed is the output of this, of one run. */
import type { Results, ScenarioResult } from '../results.js';
import { valuesOf } from '../run-scenario.js';
import { median } from '../statistics.js';

type Medians = (scenario: string, line: string, key: string, digits?: number) => string;

const ours = 'drizzle-queue';
const graphile = 'graphile-worker';
const graphileLocal = 'graphile-worker, local queue';
const boss = 'pg-boss';
const contenders = [ours, 'hand-written LISTEN loop', graphile, boss];

/** Empty cells for scenarios that were not run. */
export function readmeTables({ scenarios }: Results): string {
  const of = mediansOf(scenarios);
  return [goals(scenarios), wakeUps(of), commits(of)].join('\n\n');
}

function mediansOf(scenarios: readonly ScenarioResult[]): Medians {
  return (scenario, line, key, digits = 0) => {
    const found = scenarios.find(({ name }) => name === scenario)?.lines.find(({ name }) => name === line);
    const values = found ? valuesOf(found, key) : [];
    if (values.length === 0) return '';
    return median(values).toLocaleString('en', {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    });
  };
}

function goals(scenarios: readonly ScenarioResult[]): string {
  const rows = scenarios
    .flatMap((scenario) => scenario.goals)
    .map(({ what, measured, goal, reached }) => [what, measured, goal, reached ? 'ok' : 'short']);
  return table([['', 'measured', 'goal', ''], ...rows]);
}

function wakeUps(of: Medians): string {
  const pickup = (rate: number, slowest: string) => [
    `pickup at ${rate} job${rate === 1 ? '' : 's'}/s: p50, ${slowest}`,
    ...contenders.map((line) =>
      joined([of('latency', line, `p50at${rate}`, 2), of('latency', line, `p99at${rate}`, 2)], ' ms'),
    ),
  ];
  const burst = (line: string) => {
    const [allBusy, claims, empty] = ['allBusy', 'claims', 'empty'].map((key) => of('burst', line, key));
    return allBusy ? `${allBusy} ms, ${claims}, ${empty}` : '';
  };
  const idle = (line: string, digits = 0) => of('idle', line, 'statements', digits);
  const local = (first: string, second: string) => `${first}; with a local queue ${second}`;
  return table([
    ['', ...contenders],
    pickup(1, 'slowest of 20'),
    pickup(10, 'p99'),
    pickup(100, 'p99'),
    ['idle worker: statements/s', idle(ours, 1), '', idle(graphile, 1), idle(boss, 1)],
    [
      '20 idle workers in 4 processes: statements/s',
      idle(`${ours}, 20 workers`),
      '',
      local(idle(`${graphile}, 20 workers`), idle(`${graphileLocal}, 20 workers`)),
      idle(`${boss}, 20 workers`),
    ],
    [
      '10,000 jobs at once, 20 idle workers of 10 slots: all busy after, claims, empty ones',
      burst(ours),
      '',
      local(burst(graphile), burst(graphileLocal)),
      burst(boss),
    ],
    [
      'one job, 20 idle workers: claims in the next 300 ms',
      of('burst', ours, 'oneClaims'),
      '',
      local(of('burst', graphile, 'oneClaims'), of('burst', graphileLocal, 'oneClaims')),
      of('burst', boss, 'oneClaims'),
    ],
  ]);
}

function commits(of: Medians): string {
  const perSecond = (line: string) => of('commits', line, 'perSecond');
  const atWork = [ours, graphile, boss].map((line) => perSecond(`${line}, a worker at work`));
  return table([
    ["an app's commits a second, 32 connections, an order and a job in each", ''],
    [ours, perSecond(ours)],
    [`${ours} with \`wake: false\``, perSecond(`${ours}, wake: false`)],
    ['plain Drizzle inserts, nobody told', perSecond('plain inserts, no wake-up')],
    ['plain Drizzle inserts, `pg_notify` in each', perSecond('plain inserts, pg_notify in each')],
    [`${graphile}, ${boss}`, joined([perSecond(graphile), perSecond(boss)], '')],
    [`beside a worker at work: ${ours}, ${graphile}, ${boss}`, joined(atWork, '')],
  ]);
}

function joined(values: readonly string[], unit: string): string {
  return values.every((value) => value === '') ? '' : `${values.join(', ')}${unit}`;
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |');
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
