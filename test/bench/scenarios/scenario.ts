/** What a scenario is: some lines, measured in turn, round after round, and the goals that the library has in it. */
import type { ContenderSpec } from '../contenders/index.js';
import type { Stage } from '../stage.js';

/** `tiny` only shows that everything runs. */
export const sizes = ['full', 'quick', 'tiny'] as const;
export type Size = (typeof sizes)[number];

export interface Metric {
  readonly key: string;
  /** As the head of a column, with its unit. */
  readonly title: string;
  /** Digits after the point. @default 0 */
  readonly digits?: number | undefined;
  /** Metrics of one group have a table of their own, with this at its head. @default all that have none have one */
  readonly group?: string | undefined;
}

/** What one round of one line gave. */
export interface Sample {
  /** By the keys of the scenario's metrics; one that a contender does not tell is left out. */
  readonly values: Readonly<Record<string, number>>;
  /** Jobs a second over time, for the chart. */
  readonly overTime?: readonly { readonly atMs: number; readonly jobs: number }[] | undefined;
}

export interface Line {
  readonly name: string;
  readonly spec: ContenderSpec;
  /** Fewer than the scenario has. */
  readonly mostRounds?: number | undefined;
  run(stage: Stage): Promise<Sample>;
}

/** The medians of a scenario; NaN where something was not measured. */
export type Medians = (line: string, metric: string) => number;

export interface Goal {
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  /** False also where it was not measured. */
  readonly reached: boolean;
}

export interface Scenario {
  readonly name: string;
  /** What is measured, as the head of its table. */
  title(size: Size): string;
  readonly metrics: readonly Metric[];
  /** Fewer than asked for where one round is long, or the result does not vary. */
  readonly mostRounds?: number | undefined;
  lines(size: Size): readonly Line[];
  goals?(medians: Medians): readonly Goal[];
}

/** A goal that a ratio is at least, or at most, so much. */
export function ratioGoal(
  what: string,
  ratio: number,
  [bound, limit]: readonly ['at least' | 'at most', number],
): Goal {
  return {
    what,
    goal: `${bound === 'at least' ? '≥' : '≤'} ${limit}×`,
    measured: measured(ratio, '×'),
    reached: bound === 'at least' ? ratio >= limit : ratio <= limit,
  };
}

export function measured(value: number, unit: string, digits = 2): string {
  return Number.isFinite(value) ? `${value.toFixed(digits)}${unit}` : 'not measured';
}

export function count(value: number): string {
  return value.toLocaleString('en');
}
