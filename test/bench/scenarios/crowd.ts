/** Many workers in some processes, as the harness sees them: who picked up what, and which claims they sent. */
import { until } from '../../support/until.js';
import { monotonicMs } from '../process/monotonic.js';
import type { Pickup } from '../process/pickups.js';
import type { Bench } from '../stage.js';
import { crowdProcesses, crowdSlots, crowdWorkers } from './lines.js';
import { startSeveral } from './several.js';

export const slots = crowdWorkers * crowdSlots;
const slotsInEach = slots / crowdProcesses;
const longestMs = 30_000;

/** A pickup by one of all workers, which has a name of its own. */
export interface CrowdPickup extends Omit<Pickup, 'worker'> {
  readonly worker: string;
}

/** Of a time. What was sent before its begin and answered within is counted wrongly; between bursts that is rare. */
export interface Claims {
  readonly sent: number;
  /** Those that brought no job. */
  readonly empty: number;
}

export interface Crowd {
  /** All so far, once the condition holds. */
  pickupsWhen(
    condition: (pickups: readonly CrowdPickup[]) => boolean,
    what: string,
  ): Promise<readonly CrowdPickup[]>;
  /** Calls `enqueue` and gives the pickups that fill every slot; handlers do not end until `letGo`. */
  fill(enqueue: () => Promise<void>): Promise<readonly CrowdPickup[]>;
  letGo(): Promise<void>;
  /** The database has to log statements. */
  claims(fromMs: number, toMs: number): Promise<Claims>;
  stop(): Promise<void>;
}

export async function startCrowd(bench: Bench): Promise<Crowd> {
  const processes = await startSeveral(bench, crowdProcesses);
  const claimText = await bench.contender.call('claimText');
  await Promise.all(processes.map((one) => one.call('startWorking')));

  const pickups = async (inEach: readonly number[] = []) => {
    const lists = await Promise.all(processes.map((one, i) => one.call('pickedUp', inEach[i] ?? 0)));
    return lists.map((list, i) => list.map((pickup) => ({ ...pickup, worker: `${i}/${pickup.worker}` })));
  };

  return {
    async pickupsWhen(condition, what) {
      let all: readonly CrowdPickup[] = [];
      await until(
        async () => {
          all = (await pickups()).flat();
          return condition(all);
        },
        { what, timeoutMs: longestMs },
      );
      return all;
    },
    async fill(enqueue) {
      const before = (await pickups()).map(({ length }) => length);
      await Promise.all(processes.map((one) => one.call('hold')));
      await enqueue();
      const lists = await until(() => pickups(before.map((picked) => picked + slotsInEach)), {
        what: 'all slots to be busy',
        timeoutMs: longestMs,
      });
      return lists.flatMap((list, i) => list.slice(before[i]));
    },
    async letGo() {
      await Promise.all(processes.map((one) => one.call('letGo')));
    },
    async claims(fromMs, toMs) {
      const since1970 = Date.now() - monotonicMs();
      const statements = await bench.database.statements();
      const sent = statements.filter(
        ({ atMs, text }) =>
          atMs >= fromMs + since1970 && atMs <= toMs + since1970 && text.includes(claimText),
      ).length;
      const lists = await Promise.all(processes.map((one) => one.call('broughtAt')));
      const brought = lists.flat().filter((atMs) => atMs >= fromMs && atMs <= toMs).length;
      return { sent, empty: Math.max(0, sent - brought) };
    },
    async stop() {
      await Promise.all(processes.map((one) => one.call('stopWorking')));
    },
  };
}
