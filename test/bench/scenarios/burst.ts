/**
 * Many idle workers, and then jobs: how soon all of them are at work when thousands come at once, and how many look for
 * jobs in vain. And the other end of it: how many look when one job comes. Claims are counted in the server's log.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ContenderSpec } from '../contenders/index.js';
import type { ContenderProcess } from '../process/contender-process.js';
import { monotonicMs } from '../process/monotonic.js';
import { logStatements } from '../server.js';
import type { Stage } from '../stage.js';
import { median } from '../statistics.js';
import { type Crowd, type CrowdPickup, slots, startCrowd } from './crowd.js';
import {
  boss,
  crowd,
  crowdProcesses,
  crowdSlots,
  crowdWorkers,
  graphile,
  graphileQueue,
  ours,
} from './lines.js';
import { count, type Line, type Sample, type Scenario } from './scenario.js';

const sizes = {
  full: { jobs: 10_000, singles: 4, settleMs: 3_000 },
  quick: { jobs: 2_000, singles: 2, settleMs: 2_500 },
  tiny: { jobs: 400, singles: 1, settleMs: 500 },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

/** Claims are counted until so long after the last of what is measured. */
const momentMs = 300;
/** Before a single job, the shortest and the longest; and before the many. */
const restMs = [700, 1_300] as const;

const many = 'many jobs at once';
const one = 'one job';

export const burst: Scenario = {
  name: 'burst',
  title: (size) =>
    `${crowdWorkers} idle workers with ${crowdSlots} slots each, in ${crowdProcesses} processes: ${count(sizes[size].jobs)} jobs in one commit, and one job`,
  metrics: [
    { group: many, key: 'eachHasOne', title: 'each has a job, ms', digits: 1 },
    { group: many, key: 'allBusy', title: 'all slots busy, ms', digits: 1 },
    { group: many, key: 'claims', title: 'claims' },
    { group: many, key: 'empty', title: 'empty ones' },
    { group: one, key: 'oneMs', title: 'pickup ms', digits: 2 },
    { group: one, key: 'oneBefore', title: `claims in ${momentMs} ms before`, digits: 1 },
    { group: one, key: 'oneClaims', title: `${momentMs} ms after`, digits: 1 },
    { group: one, key: 'oneEmpty', title: 'empty ones of these', digits: 1 },
  ],
  mostRounds: 3,
  lines(size) {
    const line = (name: string, spec: ContenderSpec): Line => ({
      name,
      spec,
      run: (stage) => measure(stage, spec, sizes[size]),
    });
    const all = [line(ours, crowd[ours])];
    if (size === 'quick') return all; // there is no time for more
    return [
      ...all,
      line(graphile, crowd[graphile]),
      line(graphileQueue, crowd[graphileQueue]),
      line(boss, crowd[boss]),
    ];
  },
};

function measure(stage: Stage, spec: ContenderSpec, { jobs, singles, settleMs }: Plan): Promise<Sample> {
  return stage.fresh(
    spec,
    async (bench) => {
      const app = await bench.another();
      const workers = await startCrowd(bench);
      const warmUp = 2 * slots;
      // Once as it is measured below: compiled code, and every connection open.
      await workers.fill(async () => void (await app.call('enqueueAtOnce', 0, warmUp)));
      await workers.letGo();
      await workers.pickupsWhen((all) => all.length >= warmUp, 'the warm-up to be over');
      await app.call('finishedAt');
      await bench.database.settle();
      await delay(settleMs);
      const ofOne = await measureOne(app, workers, warmUp, singles);
      await delay(restMs[1]);
      return { values: { ...ofOne, ...(await measureMany(app, workers, warmUp + singles, jobs)) } };
    },
    { before: logStatements },
  );
}

/** Enqueues single jobs with the numbers from `first` on. */
async function measureOne(app: ContenderProcess, workers: Crowd, first: number, jobs: number) {
  const pickupMs: number[] = [];
  const before: number[] = [];
  const after: number[] = [];
  const empty: number[] = [];
  for (let n = first; n < first + jobs; n++) {
    const [shortestMs, longestMs] = restMs;
    const [job] = await app.call('enqueueSpaced', n, [shortestMs + Math.random() * (longestMs - shortestMs)]);
    if (!job) throw new Error('Nothing was enqueued.');
    await delay(momentMs);
    const isIt = (pickup: CrowdPickup) => pickup.n === n;
    const picked = (await workers.pickupsWhen((all) => all.some(isIt), 'the job to be picked up')).find(isIt);
    pickupMs.push((picked?.atMs ?? Number.NaN) - job.atMs);
    before.push((await workers.claims(job.readyAtMs - momentMs, job.readyAtMs)).sent);
    const claims = await workers.claims(job.readyAtMs, job.atMs + momentMs);
    after.push(claims.sent);
    empty.push(claims.empty);
  }
  return {
    oneMs: median(pickupMs),
    oneBefore: mean(before),
    oneClaims: mean(after),
    oneEmpty: mean(empty),
  };
}

/** Enqueues so many jobs in one transaction; they have the numbers from `first` on, and their handlers do not end. */
async function measureMany(app: ContenderProcess, workers: Crowd, first: number, jobs: number) {
  let committed = { readyAtMs: 0, atMs: 0 };
  const busy = await workers.fill(async () => {
    committed = await app.call('enqueueAtOnce', first, first + jobs);
  });
  const firstOf = new Map<string, number>();
  for (const { worker, atMs } of busy) if (!firstOf.has(worker)) firstOf.set(worker, atMs);
  const lastAtMs = Math.max(...busy.map(({ atMs }) => atMs));
  await delay(Math.max(0, lastAtMs + momentMs - monotonicMs()));
  const claims = await workers.claims(committed.readyAtMs, lastAtMs + momentMs);
  await workers.letGo();
  await workers.stop();
  return {
    eachHasOne: Math.max(...firstOf.values()) - committed.atMs,
    allBusy: lastAtMs - committed.atMs,
    claims: claims.sent,
    empty: claims.empty,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
