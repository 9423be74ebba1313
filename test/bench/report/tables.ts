/** The results as text: a table for each scenario, and the table of goals. */
import type { Settings } from '../contenders/contender.js';
import type { LineResult, Results, ScenarioResult } from '../results.js';
import { valuesOf } from '../run-scenario.js';
import type { Metric } from '../scenarios/scenario.js';
import { median } from '../statistics.js';
import { inColumns } from './columns.js';

export function headOf({ at, size, rounds, machine, versions, postgres }: Results): string {
  return [
    `${at}, ${size === 'full' ? '' : `--${size}, `}${rounds} rounds; median (lowest – highest)`,
    asText(machine),
    asText(versions),
    `Postgres: ${asText(postgres)}`,
  ].join('\n');
}

export function scenarioTable({ title, metrics, lines, seconds }: ScenarioResult): string {
  const groups = [...new Set(metrics.map(({ group }) => group))];
  const tables = groups.map((group) =>
    table(
      group,
      metrics.filter((metric) => metric.group === group),
      lines,
    ),
  );
  const notes = lines.map((line) => `  ${line.name}: ${asText(line.settings)}`);
  const errors = lines.flatMap(({ name, error }) => (error ? [`  ${name} FAILED: ${error}`] : []));
  return [`${title} (${seconds} s)`, ...tables, ...notes, ...errors].join('\n');
}

/** Of the lines that have any of these metrics, where they are a group. */
function table(group: string | undefined, metrics: readonly Metric[], lines: readonly LineResult[]): string {
  const shown = lines.filter(
    (line) => group === undefined || metrics.some(({ key }) => valuesOf(line, key).length > 0),
  );
  const head = [group ?? '', ...metrics.map(({ title }) => title)];
  return inColumns([
    head,
    ...shown.map((line) => [line.name, ...metrics.map((metric) => cell(line, metric))]),
  ]);
}

/** Empty where there are no goals. */
export function goalTable(scenarios: readonly ScenarioResult[]): string {
  const rows = scenarios
    .flatMap(({ goals }) => goals)
    .map(({ what, goal, measured, reached }) => [what, measured, goal, reached ? 'ok' : 'short']);
  return rows.length === 0 ? '' : `${inColumns([['', 'measured', 'goal', 'verdict'], ...rows])}\n`;
}

function cell(line: LineResult, { key, digits = 0 }: Metric): string {
  const values = valuesOf(line, key);
  if (values.length === 0) return '-';
  const text = (value: number) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${text(median(values))} (${text(Math.min(...values))} – ${text(Math.max(...values))})`;
}

function asText(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}
