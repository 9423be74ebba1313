/** Remembers when jobs were picked up, and keeps handlers from ending while it is told to. */
import type { WorkListener } from '../contenders/contender.js';
import { monotonicMs } from './monotonic.js';

export interface Pickup {
  readonly n: number;
  readonly atMs: number;
  /** Which of the process's workers, from 0. */
  readonly worker: number;
}

export interface Pickups {
  readonly listener: WorkListener;
  /** All so far, once there are so many. For one who waits at a time. */
  whenPicked(jobs: number): Promise<readonly Pickup[]>;
  /** When each claim that brought jobs was answered. */
  readonly broughtAt: readonly number[];
  /** Handlers that are called from now on do not end. */
  hold(): void;
  /** They end, and so do those that follow. */
  letGo(): void;
}

export function createPickups(): Pickups {
  const picked: Pickup[] = [];
  const broughtAt: number[] = [];
  let tell = (): void => {};
  let held: Promise<void> | undefined;
  let end = (): void => {};
  return {
    listener: {
      job(n, worker = 0) {
        picked.push({ n, atMs: monotonicMs(), worker });
        tell();
        return held;
      },
      claimed: () => broughtAt.push(monotonicMs()),
    },
    async whenPicked(jobs) {
      while (picked.length < jobs) await new Promise<void>((resolve) => (tell = resolve));
      return picked;
    },
    broughtAt,
    hold() {
      held = new Promise((resolve) => (end = resolve));
    },
    letGo() {
      held = undefined;
      end();
    },
  };
}
