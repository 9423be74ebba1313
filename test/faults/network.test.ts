/** The network between workers and Postgres: cut, silent in one direction or both, slow, or broken for some. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach } from 'vitest';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { scenario } from './scenario.js';
import { isLong, size } from './size.js';
import { type Stage, useStage } from './stage.js';

const createStage = useStage();
const timeoutMs = isLong ? 600_000 : 90_000;
/** Longer than the rescue limit, with room for a dead job to be found. */
const longMs = size.rescueAfterMs + 1_500;

const proxies: TcpProxy[] = [];
afterEach(async () => {
  await Promise.all(proxies.splice(0).map((proxy) => proxy.end()));
});

type Fault = readonly [name: string, begin: (proxy: TcpProxy) => void, end: (proxy: TcpProxy) => void];
const mend = (proxy: TcpProxy) => proxy.mend();
const cut: Fault = ['are cut off', (proxy) => proxy.cut(), mend];
const lost: Fault = ['lose all that is sent', (proxy) => proxy.blackHole(), mend];
const held: Fault = [
  'hear nothing until all of it arrives at once',
  (proxy) => proxy.holdAll(),
  (proxy) => proxy.release(),
];
const answers: Fault = ['lose the answers', (proxy) => proxy.loseAnswers(), mend];
const requests: Fault = ['lose the requests', (proxy) => proxy.loseRequests(), mend];

for (const faults of [
  [cut, lost, held],
  [answers, requests],
]) {
  const names = faults.map(([name]) => name).join('; then they ');
  const act = async (stage: Stage) => {
    const proxy = await proxied(stage);
    await bothWorkers(stage, proxy);
    for (const [, begin, end] of faults) {
      await stage.enqueue(Math.floor(size.jobs / faults.length), { ms: 300 });
      await stage.inFlight(20);
      begin(proxy);
      await delay(longMs);
      end(proxy);
      stage.faultIsOver();
    }
    return faults.length;
  };
  scenario(`for longer than the rescue limit all workers ${names}`, createStage, act, { timeoutMs });
}

const slow = async (stage: Stage) => {
  const proxy = await proxied(stage);
  proxy.delay(100);
  await bothWorkers(stage, proxy);
  await stage.enqueue(size.jobs / 2, { ms: 300 });
  await stage.drained({ timeoutMs });
  stage.faultIsOver();
  return 1;
};
scenario('everything takes 100 ms longer, each way', createStage, slow, { timeoutMs });

const unsteady = async (stage: Stage) => {
  const proxy = await proxied(stage);
  await bothWorkers(stage, proxy);
  await stage.enqueue(size.jobs, { ms: 300 });
  await stage.inFlight(20);
  for (let n = 0; n < size.breaks; n++) {
    proxy.cutSome(0.3);
    await delay(Math.random() * 200);
  }
  stage.faultIsOver();
  return size.breaks;
};
scenario(`${size.breaks} times some connections are cut, under load`, createStage, unsteady, { timeoutMs });

const someSilent = async (stage: Stage) => {
  const proxy = await proxied(stage);
  await bothWorkers(stage, proxy);
  await stage.enqueue(size.jobs, { ms: 300 });
  await stage.inFlight(20);
  proxy.silenceSome(0.3);
  await delay(longMs);
  mend(proxy);
  stage.faultIsOver();
  return 1;
};
scenario('some connections fall silent for longer than the rescue limit', createStage, someSilent, {
  timeoutMs,
});

const someWorkers = async (stage: Stage) => {
  const proxy = await proxied(stage);
  await bothWorkers(stage, proxy);
  // They end while their workers are cut off and others run them, so that they are written late.
  await stage.enqueue(40, { ms: longMs + 1_000 });
  await stage.inFlight(40);
  await stage.startWorker({ slots: 60 });
  proxy.blackHole();
  await delay(longMs + 2_000);
  await stage.inFlight(20);
  proxy.mend();
  stage.faultIsOver();
  await stage.enqueue(size.jobs - 40, { ms: 200 });
  return 1;
};
scenario('two of three workers are cut off for longer than the rescue limit', createStage, someWorkers, {
  timeoutMs,
  overlaps: true,
  repeats: true,
});

async function proxied(stage: Stage): Promise<TcpProxy> {
  const proxy = await startTcpProxy(stage.url);
  proxies.push(proxy);
  return proxy;
}

function bothWorkers(stage: Stage, { url }: TcpProxy) {
  return Promise.all([
    stage.startWorker({ driver: 'postgres.js', url }),
    stage.startWorker({ driver: 'node-postgres', url }),
  ]);
}
