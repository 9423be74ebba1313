/**
 * A process that starts and stops workers over one pool, again and again, as an app that is reconfigured would. Tells what
 * each stop took and what it left behind, and ends by itself.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Config as AppConfig, openApp } from './app.js';
import { type Held, watchHeld } from './held.js';

export interface Config extends AppConfig {
  readonly cycles: number;
  /** A worker is stopped after a random time up to this. */
  readonly longestMs: number;
  /** Each stop has one of these. */
  readonly graces: readonly number[];
}

export type Message =
  | ({ readonly event: 'stopped'; readonly graceMs: number; readonly tookMs: number } & Held)
  /** How many of the workers were still in memory after all; with `--expose-gc`. */
  | { readonly event: 'kept'; readonly workers: number }
  | { readonly event: 'warning'; readonly message: string };

const config: Config = JSON.parse(process.argv[2] ?? '{}');
const tell = (message: Message): void => void (process.connected && process.send?.(message));
process.on('disconnect', () => process.exit(3)); // nothing outlives the test's process
process.channel?.unref();
process.on('warning', (warning) => tell({ event: 'warning', message: String(warning) }));

const app = openApp(config);
const held = watchHeld(app.pool);

const listeners: WeakRef<() => void>[] = [];
for (let n = 0; n < config.cycles; n++) {
  const worker = app.worker();
  const listener = () => {};
  worker.on('stopped', listener); // lives as long as what the worker holds
  listeners.push(new WeakRef(listener));
  await worker.start();
  await delay(Math.random() * config.longestMs);
  const graceMs = config.graces[Math.floor(Math.random() * config.graces.length)] ?? 0;
  const began = performance.now();
  await worker.stop({ graceMs });
  tell({ event: 'stopped', graceMs, tookMs: performance.now() - began, ...held() });
}
await app.end();
globalThis.gc?.();
tell({ event: 'kept', workers: listeners.filter((listener) => listener.deref()).length });
