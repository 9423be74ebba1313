/** The command line of the bench. */
import { parseArgs } from 'node:util';
import { scenarios } from './scenarios/index.js';
import type { Scenario, Size } from './scenarios/scenario.js';

export const usage = `npm run bench -- <scenario>… | all [--quick | --tiny] [--rounds n] [--output file.json]
npm run bench -- chart <results.json>
npm run bench -- readme <results.json>

scenarios: ${scenarios.map(({ name }) => name).join(', ')}
--quick    smaller and two rounds: within five minutes, for a first look
--tiny     hundreds of jobs and one round: only to see that everything runs
--rounds   how often each contender is measured (5; with --quick 2)
--output   where the JSON goes (test/bench/results/<time>/results.json); the charts go beside it`;

export type Command =
  | { readonly chart: string }
  | { readonly readme: string }
  | {
      readonly scenarios: readonly Scenario[];
      readonly size: Size;
      readonly rounds: number;
      readonly output: string | undefined;
    };

const roundsOf: Record<Size, number> = { full: 5, quick: 2, tiny: 1 };

/** @throws Error with what is wrong, and what there is. */
export function readArguments(args: readonly string[]): Command {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean' },
      tiny: { type: 'boolean' },
      rounds: { type: 'string' },
      output: { type: 'string' },
    },
  });
  const [first, file] = positionals;
  if (first === 'chart' || first === 'readme') {
    if (!file) throw new Error(usage);
    return first === 'chart' ? { chart: file } : { readme: file };
  }
  const chosen = first === 'all' ? scenarios : positionals.map(byName);
  if (chosen.length === 0) throw new Error(usage);
  const size = values.tiny ? 'tiny' : values.quick ? 'quick' : 'full';
  const rounds = values.rounds === undefined ? roundsOf[size] : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new Error(`--rounds is a whole number from 1, not ${values.rounds}.`);
  }
  return { scenarios: chosen, size, rounds, output: values.output };
}

function byName(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (!found) throw new Error(`There is no scenario ${name}.\n\n${usage}`);
  return found;
}
