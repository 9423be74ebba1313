/** A vitest reporter that prints the matrix driver × generation at the end, and fails the run when it has a gap. */
import { sep } from 'node:path';
import type { Reporter, TestCase } from 'vitest/node';
import { driverMatrix } from './driver-matrix.js';

export default class DriverMatrixReporter implements Reporter {
  onTestRunEnd: NonNullable<Reporter['onTestRunEnd']> = (modules) => {
    const tests = modules
      .filter((module) => module.moduleId.includes(`${sep}test${sep}drivers${sep}`))
      .flatMap((module) => [...module.children.allTests()])
      .map((test) => ({ project: test.project.name, within: within(test), state: test.result().state }));
    const { text, allPassed } = driverMatrix(tests);
    console.log(`\n${text}`);
    if (!allPassed) process.exitCode = 1;
  };
}

function within(test: TestCase): string[] {
  const names: string[] = [];
  for (let parent = test.parent; parent.type === 'suite'; parent = parent.parent) names.unshift(parent.name);
  return names;
}
