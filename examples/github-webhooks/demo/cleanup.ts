/**
 * What has to be undone, done on every way out: the end, an error, a signal. The latest comes first.
 */

export interface Cleanup {
  add(undo: () => Promise<void>): void;
  /** Undoes everything, then ends the process. */
  exit(code: number): Promise<never>;
  /** Prints the error and exits with 1. */
  fail(error: unknown): Promise<never>;
  /** From then on errors are only what being cut off causes. */
  exiting(): boolean;
}

/** The cleanup of this process, which also takes over its signals and its uncaught errors. */
export function createCleanup(): Cleanup {
  const undoes: (() => Promise<void>)[] = [];
  let exiting = false;

  async function exit(code: number): Promise<never> {
    if (exiting) return new Promise(() => {}); // the first way out goes on
    exiting = true;
    process.exitCode = code; // Node ends by itself, should an undo wait for something that keeps nothing alive
    let worst = code;
    for (let undo = undoes.pop(); undo; undo = undoes.pop()) {
      await undo().catch((error: unknown) => {
        console.error(error);
        worst ||= 1;
      });
    }
    process.exit(worst);
  }

  function fail(error: unknown): Promise<never> {
    if (!exiting) console.error(error);
    return exit(1);
  }

  process.on('SIGINT', () => void exit(130));
  process.on('SIGTERM', () => void exit(143));
  process.on('uncaughtException', fail);

  return { add: (undo) => void undoes.push(undo), exit, fail, exiting: () => exiting };
}
