/**
 * Hears what is told on the channel of the jobs table: that there are jobs, so that this worker looks for them at once, or
 * leaves them to others; and that rows were changed, so that it sees which of its jobs are its own no more.
 *
 * All of it is a hint: whatever was not heard is found by looking, within `pollIntervalMs`, and by the heartbeats.
 */
import { withTimeLimit } from '../database/time-limit.js';
import { type Notice, noticeOf, noticeText, workNotice } from '../words/notice.js';
import type { Crew } from './crew.js';

/** How long the probe may take. */
const probeMs = 2_000;

/** So many look when the next job falls due: one may have ended. */
export const lookers = 2;

/** How many look for so many jobs, as if all had as many slots. One more than it takes: some are busy, one may have ended. */
function workersFor(jobs: number, slots: number): number {
  return jobs === 0 ? 1 : Math.ceil(jobs / slots) + 1;
}

/** What a worker hears with, and tells others. */
export interface Ear {
  /** Hears of the channel from now on. */
  listen(): Promise<void>;
  tell(text: string): Promise<void>;
}

export interface WakeUps {
  hear(text: string): void;
  /** Begins to listen, and looks for what came before. False where it does not hear itself. */
  begin(ear: Ear): Promise<boolean>;
  /** The connection is gone. */
  end(): void;
  /** A look took all it had room for, after a pause: has another worker look whether there is more. */
  passOn(queue: string): void;
}

interface WakeUpsOptions {
  readonly worker: string;
  /** By queue, how many of its jobs run at once. */
  readonly slots: ReadonlyMap<string, number>;
  readonly crew: Crew;
  /** There may be jobs in this queue, or in any; or `later`, which a look tells. */
  look(queue: string | undefined, what: 'work' | 'later'): void;
  /** Rows were changed. */
  changed(ids: readonly number[]): void;
}

export function createWakeUps({ worker, slots, crew, look, changed }: WakeUpsOptions): WakeUps {
  let ear: Ear | undefined;
  let probed = (): void => {};

  function hearOf(notice: Notice): void {
    if (notice.type === 'changed') changed(notice.ids);
    else if (notice.type === 'probe') {
      if (notice.worker === worker) probed();
    } else {
      const own = slots.get(notice.queue);
      if (own === undefined) return;
      const workers = notice.type === 'later' ? lookers : workersFor(notice.jobs, own);
      if (crew.isMeant(notice.queue, workers, notice.seed)) look(notice.queue, notice.type);
    }
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
      await with_.tell(noticeText({ type: 'probe', worker }));
      return withTimeLimit(heardItself, probeMs).then(
        () => true,
        () => false,
      );
    },
    end() {
      ear = undefined;
    },
    passOn(queue) {
      if (!ear || crew.isAlone(queue)) return;
      ear.tell(noticeText(workNotice(queue, 0))).catch(() => {}); // others look by themselves, a little later
    },
  };
}
