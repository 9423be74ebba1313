/**
 * Which enqueues tell the workers of their jobs, through NOTIFY.
 *
 * Not all: a transaction that notifies holds a lock of the whole database until its commit is on disk, so those that do
 * come one after another (measured in ARCHITECTURE.md). While few jobs come, each is told; while many come, each process
 * tells of a queue once in a while: the workers are awake then, and find what they were not told of.
 */
import { type Executor, isTransaction } from '../database/executor.js';
import { jobNoticeTail, laterNotice, type Notice, noticeText, workNotice } from '../words/notice.js';
import type { When } from '../words/outcome.js';
import type { CheckedJob } from './enqueue-options.js';
import { createRate } from './rate.js';

/** Up to so many jobs a second, by all processes together, each is told. */
const fewPerSecond = 200;
/** While more come: the time from one wake-up of a process to its next, for one queue. */
const windowMs = 20;
/** The window is so many times as long at most, the more other processes there are that enqueue. */
const mostShares = 10;

export interface WakeUps {
  /** The notices that go out with the insert of these jobs. */
  notices(tx: Executor, jobs: readonly Waking[]): readonly string[];
  /** For the insert of a single job: the rest of the line that names it, where that is all there is to tell. */
  tailOfJob(tx: Executor, job: Waking): string | undefined;
  /** Told that nobody hears of these jobs after all: no job came of them. */
  untold(tx: Executor, jobs: readonly Waking[]): void;
  /** Told of the ids that an insert gave, and how many it drew for jobs that were duplicates; or that it failed. */
  inserted(ids: readonly number[], lostIds?: number): void;
  failed(jobs: readonly Waking[]): void;
}

/** What of a new job matters to those who wait for one. */
type Waking = Pick<CheckedJob, 'queue' | 'when' | 'wake'>;

/** Those of one table; what is remembered is that of this process. */
export function createWakeUps(): WakeUps {
  const rate = createRate();
  /** When this process last told of a queue, by what was told; and when the nearest job of those told of later falls due. */
  const toldAt = new Map<string, number>();
  const nearest = new Map<string, number>();
  /** Of transactions that are open: what they have told. Once is enough, it is heard after the commit. */
  const toldBy = new WeakMap<Executor, Set<string>>();

  function isTold(tx: Executor, { subject, dueAt }: Wanted, now: number): boolean {
    if (toldBy.get(tx)?.has(subject)) return true;
    const { table, own } = rate.perSecond();
    if (table <= fewPerSecond) return false;
    // Who looks for one that is due later looks for those behind it as well, but not for one in front.
    if (dueAt !== undefined && dueAt < (nearest.get(subject) ?? Number.POSITIVE_INFINITY)) return false;
    const shares = Math.min(Math.max(1, table / own), mostShares);
    return now - (toldAt.get(subject) ?? Number.NEGATIVE_INFINITY) < windowMs * shares;
  }

  function tells(tx: Executor, { subject, dueAt }: Omit<Wanted, 'notice'>, now: number): void {
    toldAt.set(subject, now);
    if (dueAt !== undefined) {
      const known = nearest.get(subject) ?? 0;
      nearest.set(subject, known > now ? Math.min(known, dueAt) : dueAt);
    }
    if (!isTransaction(tx)) return;
    toldBy.set(tx, (toldBy.get(tx) ?? new Set()).add(subject));
  }

  return {
    notices(tx, jobs) {
      const now = performance.now();
      const wanted = wantedOf(jobs, now).filter((one) => !isTold(tx, one, now));
      for (const one of wanted) tells(tx, one, now);
      return wanted.map(({ notice }) => noticeText(notice));
    },
    tailOfJob(tx, { queue, when, wake }) {
      // While many come, whoever looks has to see those that were not told of as well. A second job of the transaction
      // is told of as work: its worker would know of the first alone.
      const alone = wake && 'delayMs' in when && when.delayMs === 0 && rate.perSecond().table <= fewPerSecond;
      const now = performance.now();
      const subject = `job ${queue}`;
      if (!alone || toldBy.get(tx)?.has(subject) || toldBy.get(tx)?.has(`work ${queue}`)) return undefined;
      toldAt.set(`work ${queue}`, now);
      tells(tx, { subject }, now);
      return jobNoticeTail(queue);
    },
    untold(tx, jobs) {
      for (const { subject } of wantedOf(jobs, 0)) {
        toldAt.delete(subject);
        nearest.delete(subject);
        toldBy.get(tx)?.delete(subject);
      }
      for (const { queue } of jobs) toldBy.get(tx)?.delete(`job ${queue}`);
    },
    inserted(ids, lostIds = 0) {
      rate.lost(lostIds);
      const last = ids.reduce((last, id) => Math.max(last, id), 0); // in a list with keys they come in any order
      if (ids.length > 0) rate.had(ids.length, last, performance.now());
    },
    failed(jobs) {
      for (const { subject } of wantedOf(jobs, 0)) {
        toldAt.delete(subject); // nobody heard of it
        nearest.delete(subject);
      }
    },
  };
}

/** A notice that the jobs call for. */
interface Wanted {
  readonly notice: Notice;
  /** What is told once in a while: of jobs that are due in a queue, and of those that will be. */
  readonly subject: string;
  /** When the nearest of the latter falls due. */
  readonly dueAt?: number;
}

/** Of each queue, how many of the jobs are due, and whether there are others. */
function wantedOf(jobs: readonly Waking[], now: number): Wanted[] {
  const due = new Map<string, number>();
  const later = new Map<string, number>();
  for (const { queue, when, wake } of jobs) {
    if (!wake) continue;
    const delayMs = delayOf(when);
    if (delayMs <= 0) due.set(queue, (due.get(queue) ?? 0) + 1);
    if (delayMs <= 0 && 'delayMs' in when) continue;
    later.set(queue, Math.min(later.get(queue) ?? Number.POSITIVE_INFINITY, delayMs));
  }
  return [
    ...[...due].map(([queue, count]) => ({ notice: workNotice(queue, count), subject: `work ${queue}` })),
    ...[...later].map(([queue, delayMs]) => ({
      notice: laterNotice(queue),
      subject: `later ${queue}`,
      dueAt: now + delayMs,
    })),
  ];
}

/** How long until it falls due; an instant by this machine's clock, which may not be the database's. */
function delayOf(when: When): number {
  return 'delayMs' in when ? when.delayMs : Date.parse(when.runAt) - Date.now();
}
