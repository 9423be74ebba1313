/**
 * A process that runs jobs whose handlers do nothing, as many as it is told, and tells at even steps what it holds. Wants
 * `--expose-gc`.
 */
import { createWorker } from '../../../src/worker.js';
import { faultRegistry } from '../registry.js';
import { type Config as AppConfig, connect } from './app.js';
import { type Held, watchHeld } from './held.js';

export interface Config extends AppConfig {
  readonly jobs: number;
  /** A sample is taken after each so many. */
  readonly every: number;
}

export type Message =
  | ({ readonly event: 'sample'; readonly heapBytes: number } & Held)
  | { readonly event: 'warning'; readonly message: string };

const config: Config = JSON.parse(process.argv[2] ?? '{}');
const tell = (message: Message): void => void (process.connected && process.send?.(message));
process.on('disconnect', () => process.exit(3)); // nothing outlives the test's process
process.channel?.unref();
process.on('warning', (warning) => tell({ event: 'warning', message: String(warning) }));

const { db, pool, end } = connect(config);
const held = watchHeld(pool);
const worker = createWorker({
  db,
  registry: faultRegistry(config.rescueAfterMs),
  queues: { default: config.slots },
  heartbeatMs: config.heartbeatMs,
  log: false,
  handlers: { work: () => {} },
});
let completed = 0;
const done = new Promise<void>((resolve) => {
  worker.on('completed', () => {
    completed++;
    if (completed % config.every === 0) sample();
    if (completed === config.jobs) resolve();
  });
});
await worker.start();
await done;
await worker.stop();
await end();

function sample(): void {
  globalThis.gc?.();
  tell({ event: 'sample', heapBytes: process.memoryUsage().heapUsed, ...held() });
}
