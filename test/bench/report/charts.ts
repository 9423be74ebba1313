/** The results as pictures, for the README: SVG, drawn without a browser. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as echarts from 'echarts';
import type { LineResult, Results, ScenarioResult } from '../results.js';
import { valuesOf } from '../run-scenario.js';
import { median } from '../statistics.js';

const ours = '#2563eb';
const others = '#94a3b8';
/** Of the lines over time, the first one ours. */
const palette = [ours, '#cbd5e1', '#d97706', '#059669'];
/** So many points of a curve: fewer, larger slices of time, since jobs begin in batches. */
const slices = 24;

/** Writes a chart for each scenario that has one, and gives the names of the files. */
export async function writeCharts({ scenarios }: Results, folder: string): Promise<string[]> {
  const charts = scenarios.flatMap((scenario) => {
    if (scenario.metrics[0]?.key !== 'jobsPerSecond') return [];
    if (scenario.name === 'pinned') return [{ name: 'pinned', svg: overTime(scenario) }];
    if (scenario.name === 'scale') return [{ name: 'scale', svg: byProcesses(scenario) }];
    return [{ name: scenario.name, svg: bars(scenario) }];
  });
  for (const { name, svg } of charts) await writeFile(join(folder, `${name}.svg`), svg);
  return charts.map(({ name }) => `${name}.svg`);
}

/** Jobs a second of each line, with the lowest and the highest round. */
function bars({ title, lines }: ScenarioResult): string {
  const measured = lines
    .map((line) => ({ name: line.name, values: valuesOf(line, 'jobsPerSecond') }))
    .filter(({ values }) => values.length > 0)
    .sort((a, b) => median(a.values) - median(b.values));
  return draw(110 + measured.length * 34, {
    title: { text: title, subtext: 'median of the rounds' },
    grid: { left: 200, right: 80, top: 70, bottom: 10 },
    xAxis: { type: 'value', axisLabel: { show: false }, splitLine: { show: false } },
    yAxis: { type: 'category', data: measured.map(({ name }) => name), axisTick: { show: false } },
    series: [
      {
        type: 'bar',
        barWidth: '60%',
        label: { show: true, position: 'right', formatter: ({ value }) => thousands(Number(value)) },
        data: measured.map(({ name, values }) => ({
          value: Math.round(median(values)),
          itemStyle: { color: name.startsWith('drizzle-queue') ? ours : others },
        })),
      },
    ],
  });
}

/** Jobs a second of each line over time, in its middle round. */
function overTime({ title, lines }: ScenarioResult): string {
  return draw(380, {
    title: { text: title.split(':')[0] ?? title, subtext: 'jobs a second over time, until the last is done' },
    color: palette,
    legend: { bottom: 0, itemGap: 24 },
    grid: { left: 60, right: 30, top: 80, bottom: 70 },
    xAxis: { type: 'value', name: 'seconds', nameLocation: 'middle', nameGap: 25 },
    yAxis: { type: 'value', min: 0, axisLabel: { formatter: thousands } },
    series: lines.map((line) => ({
      type: 'line',
      name: line.name,
      showSymbol: false,
      lineStyle: { width: line.name === 'drizzle-queue' ? 3 : 2 },
      data: rates(line),
    })),
  });
}

function rates(line: LineResult): [seconds: number, perSecond: number][] {
  const byRate = [...line.rounds].sort(
    (a, b) => (a.values['jobsPerSecond'] ?? 0) - (b.values['jobsPerSecond'] ?? 0),
  );
  const points = byRate[Math.floor((byRate.length - 1) / 2)]?.overTime ?? [];
  const sliceMs = (points.at(-1)?.atMs ?? 0) / slices;
  const doneAt = (ms: number) => points.findLast(({ atMs }) => atMs <= ms)?.jobs ?? 0;
  return Array.from({ length: slices }, (_, i) => {
    const jobs = doneAt((i + 1) * sliceMs) - doneAt(i * sliceMs);
    return [((i + 0.5) * sliceMs) / 1_000, Math.round(jobs / (sliceMs / 1_000))];
  });
}

/** Jobs a second by the number of processes, which the names of the lines end in. */
function byProcesses({ title, lines }: ScenarioResult): string {
  const curves = new Map<string, [processes: number, perSecond: number][]>();
  for (const line of lines) {
    const [, name, processes] = /^(.*), (\d+) process(?:es)?$/.exec(line.name) ?? [];
    const perSecond = median(valuesOf(line, 'jobsPerSecond'));
    if (name === undefined || !Number.isFinite(perSecond)) continue;
    curves.set(name, [...(curves.get(name) ?? []), [Number(processes), Math.round(perSecond)]]);
  }
  // A curve needs two points: a line that was measured with one number of processes has none.
  const drawn = [...curves].filter(([, points]) => points.length > 1);
  return draw(380, {
    title: { text: title, subtext: 'jobs a second by the number of worker processes' },
    color: palette,
    legend: { bottom: 0, itemGap: 24 },
    grid: { left: 60, right: 30, top: 80, bottom: 70 },
    xAxis: { type: 'log', logBase: 2, name: 'processes', nameLocation: 'middle', nameGap: 25 },
    yAxis: { type: 'value', min: 0, axisLabel: { formatter: thousands } },
    series: drawn.map(([name, points]) => ({
      type: 'line',
      name,
      lineStyle: { width: name === 'drizzle-queue' ? 3 : 2 },
      data: points,
    })),
  });
}

function draw(height: number, option: echarts.EChartsOption): string {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 760, height });
  try {
    chart.setOption({
      animation: false,
      backgroundColor: '#ffffff',
      textStyle: { fontFamily: 'Helvetica, Arial, sans-serif' },
      ...option,
    });
    return `${chart.renderToSVGString()}\n`;
  } finally {
    chart.dispose(); // else the process would not end
  }
}

function thousands(value: number): string {
  return value.toLocaleString('en');
}
