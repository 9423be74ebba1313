/**
 * `npm run demo`: GitHub's example payloads go through the receiver, the queue and two workers to an unreliable
 * service, one worker is killed in the middle of a job, and every promise is checked at the end.
 *
 * `--events 40` sends fewer. Exits with 1 when a promise is broken, or when it takes longer than a minute.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect, type Db } from './database.js';
import { audit } from './demo/audit.js';
import { createCleanup } from './demo/cleanup.js';
import { createGitHub } from './demo/github.js';
import { close, listen } from './demo/http.js';
import { killInTheMiddle } from './demo/kill.js';
import { type Delivery, deliveries } from './demo/payloads.js';
import { startDatabase } from './demo/postgres.js';
import { countJobs, showProgress } from './demo/progress.js';
import { startSink } from './demo/sink.js';
import { promises, summary } from './demo/summary.js';
import { startWorker } from './demo/worker-process.js';
import { createReceiver } from './receiver.js';

const secret = 'only GitHub and the receiver know';
const waitLimitMs = 45_000;
const limitMs = 54_000;

const began = performance.now();
const seconds = () => `${((performance.now() - began) / 1_000).toFixed(1).padStart(5)} s`;
const cleanup = createCleanup();
setTimeout(() => cleanup.fail(new Error(`The demo took longer than ${limitMs} ms.`)), limitMs).unref();

async function demo(all: readonly Delivery[]): Promise<boolean> {
  const starting = startDatabase();
  // Also when it is interrupted while it starts; a start that fails has cleaned up itself.
  cleanup.add(() =>
    starting.then(
      ({ stop }) => stop(),
      () => {},
    ),
  );
  const database = await starting;
  const db = connect(database.url, 'receiver');
  cleanup.add(() => db.$client.end({ timeout: 1 })); // without a limit it may wait for ever for a connection in the making
  const sink = await startSink('discussion');
  cleanup.add(sink.close);
  const receiver = await startReceiver(db, every(10, all));
  const github = createGitHub(receiver, secret, every(25, all));
  const progress = showProgress(async () => {
    const { completed, running, waiting, retrying, discarded } = await countJobs(db);
    const sent = `${github.accepted.size + github.failed.size}/${all.length} sent`;
    const open = `${running} running, ${waiting} waiting, ${retrying} to retry`;
    return `${seconds()} ${sent}: ${completed} done, ${open}, ${discarded} discarded`;
  });
  cleanup.add(progress.stop);
  progress.say(`${seconds()} ${database.server}: two workers, ${all.length} events of GitHub`);

  const workers = ['worker-a', 'worker-b'].map((name) => {
    const worker = startWorker(name, { DATABASE_URL: database.url, SINK_URL: sink.url }, cleanup.fail);
    cleanup.add(worker.kill);
    return worker;
  });
  const third = Math.floor(all.length / 3);
  await github.send(all.slice(0, third));
  const killing = killInTheMiddle(workers, sink, db).then(({ worker, job }) => {
    progress.say(`${seconds()} ${worker.name} was killed in the middle of job ${job}`);
    return worker;
  });
  const [killed] = await Promise.all([killing, github.send(all.slice(third))]);
  await jobsEnd(db);
  await Promise.all(workers.filter((worker) => worker !== killed).map((worker) => worker.stop()));
  await progress.stop();

  const seen = { accepted: github.accepted, failed: github.failed, received: sink.received };
  const checked = await audit(db, seen);
  console.log(`\n${await summary(db, seen)}\n\n${promises(checked)}\n\n${seconds()}`);
  return checked.every(({ broken }) => broken.length === 0);
}

/** The app's receiver, with requests that fail after they have enqueued. */
async function startReceiver(db: Db, fails: (id: string) => boolean): Promise<string> {
  class Planned extends Error {}
  const receiver = createReceiver({
    db,
    secret,
    beforeCommit(id) {
      if (fails(id)) throw new Planned();
    },
    onError(error) {
      if (!(error instanceof Planned || cleanup.exiting())) console.error(error);
    },
  });
  const url = await listen(receiver);
  cleanup.add(() => close(receiver));
  return `${url}/webhooks/github`;
}

/** Whether a delivery is one of each so many. */
function every(n: number, all: readonly Delivery[]): (id: string) => boolean {
  const chosen = new Set(all.filter((_, index) => index % n === n - 1).map(({ id }) => id));
  return (id) => chosen.has(id);
}

/** Gives up in silence: the audit names what is left. */
async function jobsEnd(db: Db): Promise<void> {
  while (performance.now() - began < waitLimitMs) {
    const { running, waiting, retrying } = await countJobs(db);
    if (running + waiting + retrying === 0) return;
    await delay(100);
  }
}

const { values } = parseArgs({ options: { events: { type: 'string' } } });
demo(deliveries(values.events === undefined ? undefined : Number(values.events))).then(
  (kept) => cleanup.exit(kept ? 0 : 1),
  cleanup.fail,
);
