/**
 * What became of the conformance suite, by driver and generation. Its tests are found by the `describe` around them,
 * `on <driver>`, and by the vitest project. A combination of which no test ran is a failure.
 */
import { drivers } from '../support/drivers.js';
import type { Generation } from '../support/provided.js';
import { table } from './table.js';

const generations = { v0: 'drizzle-orm 0.45', v1: 'drizzle-orm 1.0' } as const satisfies Record<
  Generation,
  string
>;

export type ConformanceTest = {
  readonly project: string;
  /** The names of the `describe` blocks around it, the outermost first. */
  readonly within: readonly string[];
  readonly state: string;
};

export type Matrix = { readonly text: string; readonly allPassed: boolean };

export function driverMatrix(tests: readonly ConformanceTest[]): Matrix {
  const rows = drivers.flatMap((driver) =>
    Object.entries(generations).map(([project, generation]) => {
      const these = tests.filter((test) => test.project === project && test.within.includes(`on ${driver}`));
      const passed = these.filter(({ state }) => state === 'passed').length;
      const failed = these.filter(({ state }) => state !== 'passed' && state !== 'skipped').length;
      return { cells: [driver, generation, passed, failed], good: passed > 0 && failed === 0 };
    }),
  );
  return {
    text: table(
      ['driver', 'generation', 'passed', 'failed'],
      rows.map(({ cells }) => cells),
    ),
    allPassed: rows.every(({ good }) => good),
  };
}
