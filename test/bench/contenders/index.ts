/** All contenders by name, and what the harness says to get one. */
import type { BullmqOptions } from './bullmq.js';
import type { Contender } from './contender.js';
import type { DrizzleQueueOptions } from './drizzle-queue.js';
import type { GraphileWorkerOptions } from './graphile-worker.js';
import type { LoopOptions } from './loop.js';
import type { PgBossOptions } from './pg-boss.js';
import type { PlainInsertOptions } from './plain-insert.js';
import type { TutorialOptions } from './tutorial.js';

/** Goes to the contender's process as JSON. */
export type ContenderSpec =
  | ({ readonly contender: 'drizzle-queue' } & DrizzleQueueOptions)
  | ({ readonly contender: 'graphile-worker' } & GraphileWorkerOptions)
  | ({ readonly contender: 'pg-boss' } & PgBossOptions)
  | ({ readonly contender: 'bullmq' } & BullmqOptions)
  | ({ readonly contender: 'loop' } & LoopOptions)
  | ({ readonly contender: 'tutorial' } & TutorialOptions)
  | ({ readonly contender: 'plain-insert' } & PlainInsertOptions)
  | { readonly contender: 'listen-loop' };

/** Loads only this one: a process holds nothing of the others. */
export async function createContender(spec: ContenderSpec, url: string): Promise<Contender> {
  switch (spec.contender) {
    case 'drizzle-queue':
      return (await import('./drizzle-queue.js')).createDrizzleQueue(url, spec);
    case 'graphile-worker':
      return (await import('./graphile-worker.js')).createGraphileWorker(url, spec);
    case 'pg-boss':
      return (await import('./pg-boss.js')).createPgBoss(url, spec);
    case 'bullmq':
      return (await import('./bullmq.js')).createBullmq(url, spec);
    case 'loop':
      return (await import('./loop.js')).createLoop(url, spec);
    case 'tutorial':
      return (await import('./tutorial.js')).createTutorial(url, spec);
    case 'plain-insert':
      return (await import('./plain-insert.js')).createPlainInsert(url, spec);
    case 'listen-loop':
      return (await import('./listen-loop.js')).createListenLoop(url);
  }
}

/** Needs Redis instead of Postgres. */
export function usesRedis(spec: ContenderSpec): boolean {
  return spec.contender === 'bullmq' && spec.backend === 'redis';
}

/** What its tables depend on: contenders of one name can share a prepared database, except where an option is in it. */
export function tablesOf(spec: ContenderSpec): string {
  return spec.contender === 'pg-boss' ? `${spec.contender} notify ${spec.notify ?? false}` : spec.contender;
}
