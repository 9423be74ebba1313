/**
 * How many jobs a second come into a table, from this process and from all: ids are given out one after another, so what
 * lies between two of ours came from others.
 */

/** Over so long at least. */
const sampleMs = 250;

export interface Rate {
  /** Told of an insert of so many jobs, the last of which has this id. */
  had(jobs: number, lastId: number, nowMs: number): void;
  /** 0 until something is known. */
  perSecond(): { readonly table: number; readonly own: number };
}

export function createRate(): Rate {
  let began: { readonly atMs: number; readonly id: number } | undefined;
  let own = 0;
  let rates = { table: 0, own: 0 };
  return {
    had(jobs, lastId, nowMs) {
      began ??= { atMs: nowMs, id: lastId - jobs };
      own += jobs;
      const ms = nowMs - began.atMs;
      if (ms < sampleMs) return;
      const perSecond = (count: number): number => (Math.max(count, own) * 1_000) / ms; // a sequence may be set back
      rates = { table: perSecond(lastId - began.id), own: perSecond(own) };
      began = { atMs: nowMs, id: lastId };
      own = 0;
    },
    perSecond: () => rates,
  };
}
