/**
 * Hears what is told on the channel of the jobs table: that there are jobs, so that this worker looks for them at once, or
 * leaves them to others; that rows were changed, so that it sees which of its jobs are its own no more; and that something was
 * paused or resumed.
 *
 * All of it is a hint: whatever was not heard is found by looking, within `pollIntervalMs`, and by the heartbeats.
 */
import { withTimeLimit } from '../database/time-limit.js';
import { type JobNotice, type LaterNotice, type Notice, noticeOf, type WorkNotice } from '../words/notice.js';
import type { Crew } from './crew.js';

/** How long the probe may take. */
const probeMs = 2_000;

/** So many look when the next job falls due: one may have ended. */
export const lookers = 2;

/** How many look for so many jobs, as if all had as many slots. One more than it takes: some are busy, one may have ended. */
function workersFor(jobs: number, slots: number): number {
  return Math.ceil(jobs / slots) + 1;
}

/** What a worker hears with, and tells others. */
export interface Ear {
  /** Hears of the channel from now on. */
  listen(): Promise<void>;
  tell(notices: readonly Notice[]): Promise<void>;
}

export interface WakeUps {
  hear(text: string): void;
  /** Begins to listen, and looks for what came before. False where it does not hear itself. */
  begin(ear: Ear): Promise<boolean>;
  /** The connection is gone. */
  end(): void;
  /** A look took all it had room for, after a gap: has another worker look whether there is more. */
  passOn(queue: string): void;
  /** Tells others, where that is possible: they find it by looking else, a little later. */
  tell(notices: readonly Notice[]): Promise<void>;
}

interface WakeUpsOptions {
  /** That of its session. */
  readonly key: number;
  /** What it tells of the queues it serves. */
  queues(): readonly number[];
  /** By queue, how many of its jobs run at once. */
  readonly slots: ReadonlyMap<string, number>;
  readonly crew: Crew;
  hasRoom(queue: string): boolean;
  /** There may be jobs in this queue, or in any; or `later`, which a look tells. */
  look(queue: string | undefined, what: 'work' | 'later'): void;
  /** There is this job in the queue. */
  lookFor(queue: string, id: number): void;
  /** Rows were changed. */
  changed(ids: readonly number[]): void;
  /** Something was paused or resumed. */
  pauses(): void;
}

export function createWakeUps(options: WakeUpsOptions): WakeUps {
  const { key, queues, slots, crew, hasRoom, look, lookFor, changed, pauses } = options;
  let ear: Ear | undefined;
  let probed = (): void => {};

  function hearOf(notice: Notice): void {
    switch (notice.type) {
      case 'work':
      case 'job':
      case 'later':
        return hearOfJobs(notice);
      case 'more':
        if (notice.to !== key) return;
        // Around the ring until one has room: where all are busy, it ends where it began.
        if (hasRoom(notice.queue)) look(notice.queue, 'work');
        else passTo(notice.queue, notice.hops - 1);
        return;
      case 'left':
        return crew.left(notice.key);
      case 'changed':
        return changed(notice.ids);
      case 'pauses':
        return pauses();
      case 'joined':
        crew.joined(notice.key, new Set(notice.queues));
        if (notice.key === key) probed();
    }
  }

  function hearOfJobs(notice: WorkNotice | JobNotice | LaterNotice): void {
    const own = slots.get(notice.queue);
    if (own === undefined) return;
    const workers = notice.type === 'later' ? lookers : workersFor('jobs' in notice ? notice.jobs : 1, own);
    if (!crew.isMeant(notice.queue, workers, notice.seed)) return;
    if (notice.type === 'job') lookFor(notice.queue, notice.id);
    else look(notice.queue, notice.type);
  }

  function passTo(queue: string, hops: number): void {
    const to = crew.after(queue);
    if (to !== undefined && hops >= 0) void tell([{ type: 'more', queue, to, hops }]);
  }

  async function tell(notices: readonly Notice[]): Promise<void> {
    await ear?.tell(notices).catch(() => {});
  }

  return {
    hear(text) {
      const notice = noticeOf(text);
      if (notice) hearOf(notice);
    },
    async begin(with_) {
      const heardItself = new Promise<void>((resolve) => {
        probed = resolve;
      });
      await with_.listen();
      ear = with_;
      look(undefined, 'later'); // from here on all is heard, and what was committed before is there to be found
      await with_.tell([{ type: 'joined', key, queues: queues() }]);
      return withTimeLimit(heardItself, probeMs).then(
        () => true,
        () => false,
      );
    },
    end() {
      ear = undefined;
    },
    passOn: (queue) => passTo(queue, crew.others(queue) - 1),
    tell,
  };
}
