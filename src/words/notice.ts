/**
 * What is told through NOTIFY: one line of text each, on one channel for each jobs table. A notice is a hint and no more:
 * whoever misses one finds the same by looking. Lines that a release does not know are passed over.
 */

/** A queue has jobs that are due. */
export interface WorkNotice {
  readonly type: 'work';
  readonly queue: string;
  readonly jobs: number;
  /** The same for all who hear it, so that they agree on who looks. */
  readonly seed: number;
}

/** This job is due, and alone: whoever hears of it need not look for others. */
export interface JobNotice {
  readonly type: 'job';
  readonly queue: string;
  readonly id: number;
  /** As that of work. */
  readonly seed: number;
}

/** A queue has a job that falls due later: a look tells when. */
export interface LaterNotice {
  readonly type: 'later';
  readonly queue: string;
  /** As that of work. */
  readonly seed: number;
}

/** A worker took as many jobs of a queue as it has room for: there may be more, for the one that it names. */
export interface MoreNotice {
  readonly type: 'more';
  readonly queue: string;
  /** The key of that worker. */
  readonly to: number;
  /** To how many others it is passed on at most, from one that has no room either. */
  readonly hops: number;
}

/** A worker stops, and serves its queues no more. */
export interface LeftNotice {
  readonly type: 'left';
  /** Its key. */
  readonly key: number;
}

/** Somebody changed these rows: whoever runs one of them sees at once whether it is still theirs. */
export interface ChangedNotice {
  readonly type: 'changed';
  readonly ids: readonly number[];
}

/** A worker has begun to listen, and hears by this that it can. */
export interface JoinedNotice {
  readonly type: 'joined';
  /** Its key. */
  readonly key: number;
  /** The numbers of the queues that it serves. */
  readonly queues: readonly number[];
}

/** Something was paused or resumed: what is paused now is to be read anew. */
export interface PausesNotice {
  readonly type: 'pauses';
}

export type Notice =
  | WorkNotice
  | JobNotice
  | LaterNotice
  | MoreNotice
  | LeftNotice
  | ChangedNotice
  | JoinedNotice
  | PausesNotice;

/** The line of a notice; Postgres takes 7,999 bytes. */
export function noticeText(notice: Notice): string {
  switch (notice.type) {
    case 'work':
      return `work ${notice.jobs} ${notice.seed} ${notice.queue}`;
    case 'job':
      return `job ${notice.id} ${notice.seed} ${notice.queue}`;
    case 'later':
      return `later ${notice.seed} ${notice.queue}`;
    case 'more':
      return `more ${notice.to} ${notice.hops} ${notice.queue}`;
    case 'left':
      return `left ${notice.key}`;
    case 'changed':
      return `changed ${notice.ids.join(' ')}`;
    case 'joined':
      return ['joined', notice.key, ...notice.queues].join(' ');
    case 'pauses':
      return notice.type;
  }
}

/** The notice of a line, which may be anybody's; undefined for one that is not known. */
export function noticeOf(text: string): Notice | undefined {
  const [, jobs, seed, queue] = /^work (\d{1,15}) (\d{1,15}) (.+)$/su.exec(text) ?? [];
  if (queue !== undefined) return { type: 'work', queue, jobs: Number(jobs), seed: Number(seed) };
  const [, id, jobSeed, jobQueue] = /^job (\d{1,16}) (\d{1,15}) (.+)$/su.exec(text) ?? [];
  if (jobQueue !== undefined) return { type: 'job', queue: jobQueue, id: Number(id), seed: Number(jobSeed) };
  const [, laterSeed, laterQueue] = /^later (\d{1,15}) (.+)$/su.exec(text) ?? [];
  if (laterQueue !== undefined) return { type: 'later', queue: laterQueue, seed: Number(laterSeed) };
  const [, to, hops, moreQueue] = /^more (\d{1,15}) (\d{1,15}) (.+)$/su.exec(text) ?? [];
  if (moreQueue !== undefined) return { type: 'more', queue: moreQueue, to: Number(to), hops: Number(hops) };
  const [, key] = /^left (\d{1,15})$/.exec(text) ?? [];
  if (key !== undefined) return { type: 'left', key: Number(key) };
  const [, ids] = /^changed (\d{1,16}(?: \d{1,16})*)$/.exec(text) ?? [];
  if (ids !== undefined) return { type: 'changed', ids: ids.split(' ').map(Number) };
  if (text === 'pauses') return { type: 'pauses' };
  const [, joined] = /^joined (\d{1,15}(?: \d{1,15})*)$/.exec(text) ?? [];
  const [first, ...queues] = joined?.split(' ').map(Number) ?? [];
  return first === undefined ? undefined : { type: 'joined', key: first, queues };
}

/** A notice that a queue has jobs; a random seed, so that other workers look each time. */
export function workNotice(queue: string, jobs: number): WorkNotice {
  return { type: 'work', queue, jobs, seed: randomSeed() };
}

/** What follows the id in the line of a {@link JobNotice}: the id is not known before the row is. */
export function jobNoticeTail(queue: string): string {
  return `${randomSeed()} ${queue}`;
}

export function laterNotice(queue: string): LaterNotice {
  return { type: 'later', queue, seed: randomSeed() };
}

function randomSeed(): number {
  return Math.floor(Math.random() * 1_000_000);
}
