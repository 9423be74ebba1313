/** SIGTERM and SIGINT, for as long as a worker runs; the app's own listeners are left alone. */

const signals = ['SIGTERM', 'SIGINT'] as const;

/** Calls `on` with 1 at the first signal, 2 at the second, … until the returned function is called. */
export function countSignals(on: (count: number) => void): () => void {
  let count = 0;
  const listener = (): void => on(++count);
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off(signal, listener);
  };
}
