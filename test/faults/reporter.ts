/** Prints a line a scenario when all have run. */
import type { Reporter, TestCase, TestModule } from 'vitest/node';

const columns = ['jobs', 'faults', 'lost', 'double', 'overlaps', 'again after', 'orphans after', 'result'];

export default class FaultReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = modules.flatMap((module) => [...module.children.allTests()].map((test) => row(test)));
    if (rows.length === 0) return;
    const table = [['scenario', ...columns], ...rows];
    const widths = table[0]?.map((_, n) => Math.max(...table.map((cells) => cells[n]?.length ?? 0))) ?? [];
    console.log(
      `\n${table.map((cells) => cells.map((cell, n) => pad(cell, widths[n] ?? 0, n)).join('  ')).join('\n')}`,
    );
  }
}

function row(test: TestCase): string[] {
  const { line } = test.meta();
  const result = test.result().state;
  if (!line) return [test.fullName, ...columns.slice(1).map(() => ''), result];
  const seconds = (ms: number) => (ms === 0 ? '' : `${(ms / 1_000).toFixed(1)} s`);
  const { jobs, faults, lost, doubleFinished, overlaps, againMs, orphansMs } = line;
  const counts = [jobs, faults, lost, doubleFinished, overlaps].map(String);
  return [test.fullName, ...counts, seconds(againMs), seconds(orphansMs), result];
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}
