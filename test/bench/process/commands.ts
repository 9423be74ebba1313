/** What can be asked of a contender's process. Arguments and answers are JSON. */
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Contender, FillOptions, Settings, Working } from '../contenders/contender.js';
import type { Committed } from './app.js';
import { claimTimes } from './claim-times.js';
import { type DrainOptions, drain } from './drain.js';
import { monotonicMs } from './monotonic.js';
import { createPickups, type Pickup } from './pickups.js';
import { type Shared, type ShareOptions, type Sharing, share } from './share.js';

export interface Call {
  readonly id: number;
  readonly name: keyof Commands;
  readonly args: readonly unknown[];
}

export type Answer = { readonly id: number } & ({ readonly result: unknown } | { readonly error: string });

export type Commands = ReturnType<typeof createCommands>;

export function createCommands(contender: Contender, url: string) {
  let working: Working | undefined;
  let pickups = createPickups();
  let sharing: Sharing | undefined;

  return {
    async prepare(): Promise<void> {
      await contender.prepare();
    },
    settings: (): Settings => contender.settings,
    claimText(): string {
      if (!contender.claimText) throw new Error('It does not tell a text of its claims.');
      return contender.claimText;
    },
    /** Gives the ms it took. */
    async fill(jobs: number, options: FillOptions = {}): Promise<number> {
      if (!contender.fill) throw new Error('It cannot fill.');
      const began = performance.now();
      await contender.fill(jobs, options);
      return performance.now() - began;
    },
    /** Works until what is due is done. */
    drain: (options: DrainOptions) => drain(contender, options),
    /** What so many claims of a full batch took, in ms. */
    claimTimes: (claims: number, batch: number): Promise<number[]> => claimTimes(contender, claims, batch),

    /** Works from now on, and remembers when each job was picked up. */
    async startWorking(): Promise<void> {
      pickups = createPickups();
      working = await contender.work?.(pickups.listener);
      if (!working) throw new Error('It cannot work.');
    },
    /** When each job was picked up, once there are so many. */
    pickedUp: (jobs: number): Promise<readonly Pickup[]> => pickups.whenPicked(jobs),
    /** When each claim that brought jobs was answered. */
    broughtAt: (): readonly number[] => pickups.broughtAt,
    /** Handlers that are called from now on do not end, so that their slots stay busy. */
    hold: (): void => pickups.hold(),
    /** They end, and so do those that follow. */
    letGo: (): void => pickups.letGo(),
    async stopWorking(): Promise<void> {
      await working?.stop();
      working = undefined;
    },
    /** Works from now on beside other processes. */
    async share(options: ShareOptions): Promise<void> {
      sharing = await share(contender, options);
    },
    /** How many handlers have been called since. */
    begun: (): number => sharing?.begun() ?? 0,
    /** When the database said that nothing is left. */
    async finishedAt(): Promise<number> {
      while (await contender.unfinished?.()) await delay(2);
      return monotonicMs();
    },
    async stopSharing(): Promise<Shared> {
      if (!sharing) throw new Error('It does not share.');
      return sharing.stop();
    },
    /** Has Node tidy up what its start left behind: copying that once takes 20 ms, and is no matter of the queue. */
    async collectGarbage(): Promise<void> {
      setFlagsFromString('--expose-gc');
      const collect: unknown = runInNewContext('gc');
      if (typeof collect === 'function') for (let n = 0; n < 2; n++) collect();
    },
    /** The CPU time of the process so far, in ms. */
    cpuMs(): number {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000;
    },
    /** Enqueues one job after the other, from this number on, and gives when each was committed. */
    async enqueueSpaced(first: number, gapsMs: readonly number[]): Promise<Committed[]> {
      return (await app()).enqueueSpaced(contender, url, first, gapsMs);
    },
    /** Enqueues jobs with the numbers from `first` to before `end` in one transaction. */
    async enqueueAtOnce(first: number, end: number): Promise<Committed> {
      return (await app()).enqueueAtOnce(contender, url, first, end);
    },
    /** What the call alone took, in µs, of so many enqueues in transactions. */
    async timeCalls(count: number): Promise<number[]> {
      return (await app()).timeCalls(contender, url, count);
    },
    /** Transactions a second of an app that enqueues in each. */
    async commits(connections: number, ms: number): Promise<number> {
      return (await app()).commits(contender, url, connections, ms);
    },
  };
}

/** Only when it is asked for: a worker of a peer need not have Drizzle in memory. */
function app() {
  return import('./app.js');
}
