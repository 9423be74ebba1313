/**
 * Runs a scenario: its lines in turn, round after round, so that what disturbs the machine disturbs them all. Every second
 * round goes backwards: what a line leaves behind (pages to be written, files to be deleted) is not always in the way of
 * the same other one.
 */
import { usesRedis } from './contenders/index.js';
import type { LineResult, ScenarioResult } from './results.js';
import type { Line, Medians, Sample, Scenario, Size } from './scenarios/scenario.js';
import type { Stage } from './stage.js';
import { median } from './statistics.js';

export interface RunOptions {
  readonly size: Size;
  readonly rounds: number;
  readonly redis: boolean;
  /** Told of each round that is about to begin. */
  readonly progress: (text: string) => void;
}

export async function runScenario(
  stage: Stage,
  scenario: Scenario,
  { size, rounds, redis, progress }: RunOptions,
): Promise<ScenarioResult> {
  const began = performance.now();
  const lines = scenario.lines(size).filter(({ spec }) => redis || !usesRedis(spec));
  const samples = new Map<Line, Sample[]>(lines.map((line) => [line, []]));
  const errors = new Map<Line, string>();
  const count = Math.min(rounds, scenario.mostRounds ?? rounds);
  const inGoals = linesOfGoals(scenario);
  for (let round = 1; round <= count; round++) {
    for (const line of round % 2 === 0 ? lines.toReversed() : lines) {
      if (round > (line.mostRounds ?? count)) continue;
      // With --quick there is no time for more of what no goal speaks of.
      if (size === 'quick' && round > 1 && !inGoals.has(line.name)) continue;
      progress(`${scenario.name}, round ${round} of ${count}: ${line.name}`);
      try {
        samples.get(line)?.push(await line.run(stage));
      } catch (error) {
        // One contender that fails does not take the others with it.
        const text = error instanceof Error ? error.message : String(error);
        progress('');
        console.error(`${scenario.name}, ${line.name}: ${text}`);
        errors.set(line, text.split('\n')[0] ?? '');
      }
    }
  }
  await stage.clear();
  const results: LineResult[] = lines.map((line) => ({
    name: line.name,
    settings: stage.settings(line.spec) ?? {},
    rounds: samples.get(line) ?? [],
    error: errors.get(line),
  }));
  return {
    name: scenario.name,
    title: scenario.title(size),
    metrics: scenario.metrics,
    lines: results,
    goals: scenario.goals?.(mediansOf(results)) ?? [],
    seconds: Math.round((performance.now() - began) / 1_000),
  };
}

/** The lines that the goals ask for. */
function linesOfGoals(scenario: Scenario): ReadonlySet<string> {
  const asked = new Set<string>();
  scenario.goals?.((line) => {
    asked.add(line);
    return Number.NaN;
  });
  return asked;
}

function mediansOf(lines: readonly LineResult[]): Medians {
  return (name, metric) =>
    median(
      valuesOf(
        lines.find((line) => line.name === name),
        metric,
      ),
    );
}

/** What the rounds gave for a metric; NaN, which JSON makes null, where there was too little to measure. */
export function valuesOf(line: LineResult | undefined, metric: string): number[] {
  return (line?.rounds ?? []).flatMap(({ values }) => {
    const value = values[metric];
    return Number.isFinite(value) ? [Number(value)] : [];
  });
}
