/** The bench: runs the scenarios that were asked for, prints their tables and the goals, writes JSON and charts. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Command, readArguments } from './arguments.js';
import { type RedisServer, startRedis } from './redis.js';
import { writeCharts } from './report/charts.js';
import { readmeTables } from './report/readme.js';
import { goalTable, headOf, scenarioTable } from './report/tables.js';
import type { Results, ScenarioResult } from './results.js';
import { runScenario } from './run-scenario.js';
import { startServer } from './server.js';
import { createStage } from './stage.js';
import { machine, postgresSettings, versions } from './surroundings.js';

const resultsFolder = fileURLToPath(new URL('results', import.meta.url));

// The guards of Postgres and Redis then clean up.
process.once('disconnect', () => process.exit(1));
process.channel?.unref();

try {
  const command = readArguments(process.argv.slice(2));
  if ('chart' in command) await chart(command.chart);
  else if ('readme' in command) console.log(readmeTables(await resultsIn(command.readme)));
  else await bench(command);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function chart(file: string): Promise<void> {
  tellCharts(dirname(file), await writeCharts(await resultsIn(file), dirname(file)));
}

async function resultsIn(file: string): Promise<Results> {
  return JSON.parse(await readFile(file, 'utf8'));
}

async function bench({
  scenarios,
  size,
  rounds,
  output,
}: Extract<Command, { rounds: number }>): Promise<void> {
  const at = new Date().toISOString();
  // A folder of its own: the charts beside it are not those that the README shows.
  const file = output ?? join(resultsFolder, at.replaceAll(':', '-').slice(0, 19), 'results.json');
  const server = await startServer();
  let redis: RedisServer | undefined;
  try {
    redis = await startRedis();
    const surroundings = {
      at,
      size,
      rounds,
      machine: machine(),
      versions: versions(redis),
      postgres: postgresSettings(server),
    };
    console.log(`${headOf({ ...surroundings, scenarios: [] })}\n`);
    const stage = createStage(server, redis);
    const done: ScenarioResult[] = [];
    for (const scenario of scenarios) {
      done.push(
        await runScenario(stage, scenario, {
          size,
          rounds,
          redis: redis !== undefined,
          progress: showProgress,
        }),
      );
      showProgress('');
      console.log(`${done.slice(-1).map(scenarioTable).join('')}\n`);
      // After each, so that a run that is broken off leaves what it has.
      await mkdir(dirname(resolve(file)), { recursive: true });
      await writeFile(
        file,
        `${JSON.stringify({ ...surroundings, scenarios: done } satisfies Results, null, 2)}\n`,
      );
    }
    console.log(goalTable(done));
    console.log(relative('', file));
    tellCharts(dirname(file), await writeCharts({ ...surroundings, scenarios: done }, dirname(file)));
    if (done.some(({ lines }) => lines.some(({ error }) => error !== undefined))) process.exitCode = 1;
  } finally {
    await redis?.stop();
    await server.stop();
  }
}

function tellCharts(folder: string, charts: readonly string[]): void {
  for (const name of charts) console.log(relative('', join(folder, name)));
}

/** On a terminal only, and in one place. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`);
}
