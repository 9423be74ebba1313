/**
 * A vitest reporter that writes how a run went, and on which Postgres, as JSON into the file that the environment
 * variable `TEST_SUMMARY` names.
 */
import { writeFileSync } from 'node:fs';
import type { Reporter, Vitest } from 'vitest/node';
import type {} from '../support/provided.js';

export type Summary = {
  readonly passed: number;
  /** Tests and files, and errors outside of both. */
  readonly failed: number;
  /** As the server that the tests ran on says. */
  readonly postgres: string;
};

export default class SummaryReporter implements Reporter {
  private vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.vitest = vitest;
  }

  onTestRunEnd: NonNullable<Reporter['onTestRunEnd']> = (modules, errors) => {
    const file = process.env.TEST_SUMMARY;
    if (!file) throw new Error('TEST_SUMMARY names no file.');
    const count = (state: 'passed' | 'failed') =>
      modules.reduce((sum, module) => sum + [...module.children.allTests(state)].length, 0);
    const brokenFiles = modules.filter((module) => module.state() === 'failed' && module.errors().length > 0);
    const { postgres } = this.vitest?.getRootProject().getProvidedContext() ?? {};
    const summary: Summary = {
      passed: count('passed'),
      failed: count('failed') + brokenFiles.length + errors.length,
      postgres: postgres?.version ?? 'none',
    };
    writeFileSync(file, JSON.stringify(summary));
  };
}
