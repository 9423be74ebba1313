/**
 * Jobs that Postgres does not let become running (a trigger or CHECK of the app): left alone for a while, so that they do
 * not stand in the way of the others.
 */

/** How long until such a job is tried again: somebody may have mended it. */
export const refusedForMs = 60_000;
/** The most that are remembered; of more, the oldest are tried again sooner. */
const mostRefused = 1_000;

export interface Refused {
  add(id: number): void;
  /** Those to leave alone now. */
  ids(): readonly number[];
}

export function createRefused(): Refused {
  /** Id → until when; the oldest first. */
  const until = new Map<number, number>();
  return {
    add(id) {
      until.delete(id);
      until.set(id, performance.now() + refusedForMs);
      const [oldest] = until.keys();
      if (until.size > mostRefused && oldest !== undefined) until.delete(oldest);
    },
    ids() {
      const now = performance.now();
      for (const [id, time] of until) if (time <= now) until.delete(id);
      return [...until.keys()];
    },
  };
}
