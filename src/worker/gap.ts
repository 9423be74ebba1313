/** Gaps that grow while nothing changes: between idle polls, and between tries at a database that is away. */

export interface Gap {
  /** The next gap in ms: twice the last one, up to the longest. */
  next(): number;
  /** Begins again with the shortest. */
  reset(): void;
  /** The next one is no longer than this. */
  atMost(ms: number): void;
}

/** The very first gap is the shortest, unless another is given. */
export function createGap(shortestMs: number, longestMs: number, firstMs = shortestMs): Gap {
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
export function createRetryGap(): Gap {
  const gap = createGap(100, 5_000);
  return { ...gap, next: () => Math.round(gap.next() * (0.5 + Math.random() / 2)) };
}
