/** What can be asked of a contender's process. Arguments and answers are JSON. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Contender, FillOptions, Settings, Working } from '../contenders/contender.js';
import { claimTimes } from './claim-times.js';
import { type DrainOptions, drain } from './drain.js';
import { monotonicMs } from './monotonic.js';
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
  let picked: [n: number, atMs: number][] = [];
  let whenPicked = (): void => {};
  let sharing: Sharing | undefined;

  return {
    async prepare(): Promise<void> {
      await contender.prepare();
    },
    settings: (): Settings => contender.settings,
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
      picked = [];
      working = await contender.work?.({
        job(n) {
          picked.push([n, monotonicMs()]);
          whenPicked();
        },
        claimed() {},
      });
      if (!working) throw new Error('It cannot work.');
    },
    /** When each job was picked up, once there are so many. */
    async pickedUp(jobs: number): Promise<[n: number, atMs: number][]> {
      while (picked.length < jobs) await new Promise<void>((resolve) => (whenPicked = resolve));
      return picked;
    },
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
    /** The CPU time of the process so far, in ms. */
    cpuMs(): number {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000;
    },
    /** Enqueues one job after the other and gives when each was committed. */
    async enqueueSpaced(
      jobs: number,
      gapMs: readonly [number, number],
    ): Promise<[n: number, atMs: number][]> {
      return (await app()).enqueueSpaced(contender, url, jobs, gapMs);
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
