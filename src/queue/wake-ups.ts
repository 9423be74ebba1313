/**
 * Which enqueues tell the workers of their jobs, through NOTIFY.
 *
 * Not all: a transaction that notifies holds a lock of the whole database until its commit is on disk, so those that do
 * come one after another (measured in ARCHITECTURE.md). While few jobs come, each is told; while many come, each process
 * tells of a queue once in a while: the workers are awake then, and find what they were not told of.
 */
import { type Executor, isTransaction } from '../database/executor.js';
import { noticeText, workNotice } from '../words/notice.js';
import type { When } from '../words/outcome.js';
import type { CheckedJob } from './enqueue-options.js';
import { createRate } from './rate.js';

/** Up to so many jobs a second, by all processes together, each is told. */
const fewPerSecond = 200;
/** While more come: the time from one wake-up of a process to its next, for one queue. */
const windowMs = 20;
/** The window is so many times as long at most, the more other processes there are that enqueue. */
const mostShares = 10;
/** A job that is due within so many ms counts as one to be run now. */
const soonMs = 2_000;

export interface WakeUps {
  /** The notices that go out with the insert of these jobs. */
  notices(tx: Executor, jobs: readonly Waking[]): readonly string[];
  /** Told of the ids that an insert gave, or that it failed. */
  inserted(ids: readonly number[]): void;
  failed(jobs: readonly Waking[]): void;
}

/** What of a new job matters to those who wait for one. */
type Waking = Pick<CheckedJob, 'queue' | 'when' | 'wake'>;

/** Those of one table; what is remembered is that of this process. */
export function createWakeUps(): WakeUps {
  const rate = createRate();
  /** When this process last told of a queue. */
  const toldAt = new Map<string, number>();
  /** Of transactions that are open: the queues that they have told of. Once is enough, it is heard after the commit. */
  const toldBy = new WeakMap<Executor, Set<string>>();

  function isTold(tx: Executor, queue: string, now: number): boolean {
    if (toldBy.get(tx)?.has(queue)) return true;
    const { table, own } = rate.perSecond();
    if (table <= fewPerSecond) return false;
    const shares = Math.min(Math.max(1, table / own), mostShares);
    return now - (toldAt.get(queue) ?? Number.NEGATIVE_INFINITY) < windowMs * shares;
  }

  function tells(tx: Executor, queue: string, now: number): void {
    toldAt.set(queue, now);
    if (!isTransaction(tx)) return;
    const queues = toldBy.get(tx) ?? new Set();
    toldBy.set(tx, queues.add(queue));
  }

  return {
    notices(tx, jobs) {
      const now = performance.now();
      const texts: string[] = [];
      for (const [queue, due] of dueByQueue(jobs)) {
        if (isTold(tx, queue, now)) continue;
        tells(tx, queue, now);
        texts.push(noticeText(workNotice(queue, due)));
      }
      return texts;
    },
    inserted(ids) {
      const last = ids.at(-1);
      if (last !== undefined) rate.had(ids.length, last, performance.now());
    },
    failed(jobs) {
      for (const { queue } of jobs) toldAt.delete(queue); // nobody heard of it
    },
  };
}

/** By queue, how many of the jobs are due soon. 0 tells of one that is due later: a look finds out when. */
function dueByQueue(jobs: readonly Waking[]): ReadonlyMap<string, number> {
  const due = new Map<string, number>();
  for (const { queue, when, wake } of jobs) {
    if (wake) due.set(queue, (due.get(queue) ?? 0) + (isSoon(when) ? 1 : 0));
  }
  return due;
}

/** By this machine's clock, which is good enough for a hint. */
function isSoon(when: When): boolean {
  return ('delayMs' in when ? when.delayMs : Date.parse(when.runAt) - Date.now()) <= soonMs;
}
