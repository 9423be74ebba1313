/** The app's config of drizzle-kit, found and loaded as drizzle-kit does it. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createJiti } from 'jiti';
import { CliError, reason } from './cli-error.js';

export interface DrizzleConfig {
  readonly file: string;
  /** The folder of the migrations. */
  readonly out: string;
}

const defaultFiles = ['drizzle.config.ts', 'drizzle.config.js', 'drizzle.config.json'];

/** @param named relative to the working directory, as is the `out` that the config names */
export async function loadDrizzleConfig(named: string | undefined): Promise<DrizzleConfig> {
  const file = named ?? defaultFiles.find((name) => existsSync(name));
  if (file === undefined) {
    throw new CliError(
      `There is no ${defaultFiles.join(', ')} in ${process.cwd()}: run this where you run drizzle-kit, or name the config with --config.`,
    );
  }
  if (!existsSync(file)) throw new CliError(`There is no file ${file}.`);

  const { dialect, out } = fields(await load(file));
  if (dialect !== 'postgresql') {
    throw new CliError(
      `${file} has the dialect ${JSON.stringify(dialect)}; drizzle-queue needs "postgresql".`,
    );
  }
  if (out !== undefined && typeof out !== 'string') throw new CliError(`\`out\` of ${file} is not a text.`);
  return { file, out: resolve(out || 'drizzle') };
}

async function load(file: string): Promise<unknown> {
  try {
    // drizzle-kit does so too, and configs rely on it.
    if (existsSync('.env')) process.loadEnvFile('.env');
    const jiti = createJiti(resolve(file), { fsCache: false, tsconfigPaths: true });
    return await jiti.import(resolve(file), { default: true });
  } catch (error) {
    throw new CliError(`${file} cannot be loaded: ${reason(error)}`);
  }
}

function fields(config: unknown): { dialect?: unknown; out?: unknown } {
  return typeof config === 'object' && config !== null ? config : {};
}
