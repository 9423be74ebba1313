/** Pauses that grow while nothing changes: between idle polls, and between tries at a database that is away. */

export interface Pause {
  /** The next pause in ms: twice the last one, up to the longest. */
  next(): number;
  /** Begins again with the shortest. */
  reset(): void;
}

export function createPause(shortestMs: number, longestMs: number): Pause {
  let ms = shortestMs;
  return {
    next() {
      const now = ms;
      ms = Math.min(ms * 2, longestMs);
      return Math.min(now, longestMs);
    },
    reset() {
      ms = shortestMs;
    },
  };
}

/** After errors of the database: 100 ms to 5 s, each between half of it and all of it so that workers spread out. */
export function createRetryPause(): Pause {
  const pause = createPause(100, 5_000);
  return { next: () => Math.round(pause.next() * (0.5 + Math.random() / 2)), reset: pause.reset };
}
