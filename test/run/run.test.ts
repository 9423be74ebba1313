/** The scripts that run the suite on other majors and print matrices: what they are told, and what they tell. */
import { describe, expect, it } from 'vitest';
import { drivers } from '../support/drivers.js';
import { driverMatrix } from './driver-matrix.js';
import { allMajors, readArguments } from './majors.js';

describe('test:postgres', () => {
  it('takes majors, each once, and passes the rest to vitest', () => {
    expect(readArguments(['13', '18', '13'])).toEqual({ majors: [13, 18], rest: [] });
    expect(readArguments(['all'])).toEqual({ majors: allMajors, rest: [] });
    expect(readArguments(['15', 'test/sql/claim.test.ts', '-t', '18'])).toEqual({
      majors: [15],
      rest: ['test/sql/claim.test.ts', '-t', '18'],
    });
  });

  it.each([[[]], [['12']], [['13', 'latest']], [['--reporter=dot', '13']]])('refuses %j', (given) => {
    expect(() => readArguments(given)).toThrow(
      /^Expected Postgres majors from 13, 14, 15, 16, 17, 18, or all, .*got (?:none|"12"|"latest")\.$/,
    );
  });
});

describe('test:drivers', () => {
  const all = drivers.flatMap((driver) =>
    ['v0', 'v1'].map((project) => ({ project, within: [`on ${driver}`, 'enqueue'], state: 'passed' })),
  );

  it('has a row for each driver on each generation', () => {
    const matrix = driverMatrix([...all, ...all]);
    expect(matrix.allPassed).toBe(true);
    expect(matrix.text.split('\n')).toEqual([
      'driver         generation        passed  failed',
      'postgres.js    drizzle-orm 0.45  2       0',
      'postgres.js    drizzle-orm 1.0   2       0',
      'node-postgres  drizzle-orm 0.45  2       0',
      'node-postgres  drizzle-orm 1.0   2       0',
      'pglite         drizzle-orm 0.45  2       0',
      'pglite         drizzle-orm 1.0   2       0',
    ]);
  });

  it('is not content with a failure, nor with a combination of which no test ran', () => {
    expect(driverMatrix([...all, { project: 'v1', within: ['on pglite'], state: 'failed' }]).allPassed).toBe(
      false,
    );
    expect(driverMatrix(all.slice(1)).allPassed).toBe(false);
    const skipped = all.map((test, n) => (n === 0 ? { ...test, state: 'skipped' } : test));
    expect(driverMatrix(skipped).allPassed).toBe(false);
  });
});
