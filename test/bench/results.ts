/** What a run of the bench leaves behind, as JSON: the report and the charts are made from nothing else. */
import type { Settings } from './contenders/contender.js';
import type { Goal, Metric, Sample, Size } from './scenarios/scenario.js';

export interface LineResult {
  readonly name: string;
  readonly settings: Settings;
  readonly rounds: readonly Sample[];
  /** Why rounds are missing. */
  readonly error?: string | undefined;
}

export interface ScenarioResult {
  readonly name: string;
  readonly title: string;
  readonly metrics: readonly Metric[];
  readonly lines: readonly LineResult[];
  readonly goals: readonly Goal[];
  /** How long it took. */
  readonly seconds: number;
}

export interface Results {
  /** ISO text. */
  readonly at: string;
  readonly size: Size;
  readonly rounds: number;
  /** What it ran on and with: versions by name. */
  readonly machine: Settings;
  readonly versions: Settings;
  readonly postgres: Settings;
  readonly scenarios: readonly ScenarioResult[];
}
