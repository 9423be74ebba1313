/**
 * A process with a worker, as an app would have one. Nothing here catches stray errors: they end the process, as they
 * would an app.
 */
import { type Config, openApp } from './app.js';

export type { Config };

export type Message =
  | { readonly event: 'started'; readonly worker: string }
  | { readonly event: 'stopping' | 'stopped' }
  | { readonly event: 'claimed'; readonly jobs: number }
  | { readonly event: 'completed' | 'lost' | 'rescued' | 'unknown' | 'failed' }
  | { readonly event: 'error'; readonly during: string; readonly message: string }
  | { readonly event: 'blocked'; readonly ms: number }
  | { readonly event: 'holding' | 'let go' };

const config: Config = JSON.parse(process.argv[2] ?? '{}');
const tell = (message: Message): void => void (process.connected && process.send?.(message));
process.on('disconnect', () => process.exit(3)); // nothing outlives the test's process
process.channel?.unref();

const app = openApp(config);
const worker = app.worker();
for (const event of ['stopping', 'stopped', 'completed', 'lost', 'rescued', 'unknown', 'failed'] as const) {
  worker.on(event, () => tell({ event }));
}
worker.on('started', ({ worker: name }) => tell({ event: 'started', worker: name }));
worker.on('claimed', ({ jobs }) => tell({ event: 'claimed', jobs: jobs.length }));
worker.on('error', ({ during, error }) => {
  const cause = error instanceof Error && error.cause !== undefined ? `: ${error.cause}` : ''; // Drizzle wraps the driver's
  tell({ event: 'error', during, message: `${error}${cause}` });
});
process.on('message', (message) => {
  const [command, ...numbers] = String(message).split(' ');
  if (command === 'block') block(Number(numbers[0]));
  if (command === 'hold') void hold(Number(numbers[0]), Number(numbers[1]));
});

/** `block <ms>`: the event loop stands still, as a handler that computes would make it. */
function block(ms: number): void {
  const until = Date.now() + ms;
  while (Date.now() < until);
  tell({ event: 'blocked', ms });
}

/** `hold <connections> <ms>`: the app keeps so many of the pool's connections for itself. */
async function hold(connections: number, ms: number): Promise<void> {
  await app.hold(connections, ms, () => tell({ event: 'holding' }));
  tell({ event: 'let go' });
}

await worker.run();
await app.end(); // and the process ends by itself
