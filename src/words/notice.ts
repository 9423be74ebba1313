/**
 * What is told through NOTIFY: one line of text each, on one channel for each jobs table. A notice is a hint and no more:
 * whoever misses one finds the same by looking. Lines that a release does not know are passed over.
 */

/** A queue has jobs that are due. */
export interface WorkNotice {
  readonly type: 'work';
  readonly queue: string;
  /** How many; 0 where some may be left. */
  readonly jobs: number;
  /** The same for all who hear it, so that they agree on who looks. */
  readonly seed: number;
}

/** A queue has a job that falls due later: a look tells when. */
export interface LaterNotice {
  readonly type: 'later';
  readonly queue: string;
  /** As that of work. */
  readonly seed: number;
}

/** Somebody changed these rows: whoever runs one of them sees at once whether it is still theirs. */
export interface ChangedNotice {
  readonly type: 'changed';
  readonly ids: readonly number[];
}

/** A worker asks itself whether it can hear. */
export interface ProbeNotice {
  readonly type: 'probe';
  readonly worker: string;
}

export type Notice = WorkNotice | LaterNotice | ChangedNotice | ProbeNotice;

/** The line of a notice; Postgres takes 7,999 bytes. */
export function noticeText(notice: Notice): string {
  switch (notice.type) {
    case 'work':
      return `work ${notice.jobs} ${notice.seed} ${notice.queue}`;
    case 'later':
      return `later ${notice.seed} ${notice.queue}`;
    case 'changed':
      return `changed ${notice.ids.join(' ')}`;
    case 'probe':
      return `probe ${notice.worker}`;
  }
}

/** The notice of a line, which may be anybody's; undefined for one that is not known. */
export function noticeOf(text: string): Notice | undefined {
  const [, jobs, seed, queue] = /^work (\d{1,15}) (\d{1,15}) (.+)$/su.exec(text) ?? [];
  if (queue !== undefined) return { type: 'work', queue, jobs: Number(jobs), seed: Number(seed) };
  const [, laterSeed, laterQueue] = /^later (\d{1,15}) (.+)$/su.exec(text) ?? [];
  if (laterQueue !== undefined) return { type: 'later', queue: laterQueue, seed: Number(laterSeed) };
  const [, ids] = /^changed (\d{1,16}(?: \d{1,16})*)$/.exec(text) ?? [];
  if (ids !== undefined) return { type: 'changed', ids: ids.split(' ').map(Number) };
  const [, worker] = /^probe (\S+)$/.exec(text) ?? [];
  return worker === undefined ? undefined : { type: 'probe', worker };
}

/** A notice that a queue has jobs; a random seed, so that other workers look each time. */
export function workNotice(queue: string, jobs: number): WorkNotice {
  return { type: 'work', queue, jobs, seed: randomSeed() };
}

export function laterNotice(queue: string): LaterNotice {
  return { type: 'later', queue, seed: randomSeed() };
}

function randomSeed(): number {
  return Math.floor(Math.random() * 1_000_000);
}
