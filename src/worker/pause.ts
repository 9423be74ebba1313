/** Pauses that grow while nothing changes: between idle polls, and between tries at a database that is away. */

export interface Pause {
  /** The next pause in ms: twice the last one, up to the longest. */
  next(): number;
  /** Begins again with the shortest. */
  reset(): void;
  /** The next one is no longer than this. */
  atMost(ms: number): void;
}

/** The very first pause is the shortest, unless another is given. */
export function createPause(shortestMs: number, longestMs: number, firstMs = shortestMs): Pause {
  let ms = firstMs;
  return {
    next() {
      const now = ms;
      ms = Math.min(ms * 2, longestMs);
      return Math.min(now, longestMs);
    },
    reset() {
      ms = shortestMs;
    },
    atMost(most) {
      ms = Math.min(ms, most);
    },
  };
}

/** After errors of the database: 100 ms to 5 s, each between half of it and all of it so that workers spread out. */
export function createRetryPause(): Pause {
  const pause = createPause(100, 5_000);
  return { ...pause, next: () => Math.round(pause.next() * (0.5 + Math.random() / 2)) };
}
