/** The kinds that the conformance tests enqueue and run, some on queues and with names that are hard to quote. */

import { tableName } from '../../src/database/table-name.js';
import { createQueue, defineJobs, type JobType, type JsonValue, job } from '../../src/index.js';

/** Texts that some array or text encoding gets wrong. */
export const oddTexts = [
  "it's",
  '"quoted"',
  'back\\slash',
  '\\',
  '"',
  'a,b',
  '{a}',
  '{}',
  'NULL',
  'null',
  ' ',
  ' padded ',
  'tab\tand\nnewline',
  "'); drop table jobs; --",
  '$1 ? %s :name',
  '😀 ünïcödé',
  '__proto__',
] as const;

export const registry = defineJobs({
  greet: job<JsonValue>({ maxAttempts: 3, rescueAfterMs: 1_000 }),
  task: job<{ does: 'end' | 'fail once' | 'discard' | 'snooze once' | 'complete' }>({ retry: () => 0 }).queue(
    'tasks',
  ),
  /** On the queue of `task`, and served by nobody. */
  spare: job().queue('tasks'),
});
export const queue = createQueue(registry);
export const table = tableName(queue.tables.jobs);

/** Each odd text is a kind, on the queue of the same name. */
export const oddQueue = createQueue(
  defineJobs(
    Object.fromEntries(
      oddTexts.map((text): [string, JobType<void, void, string>] => [text, job().queue(text)]),
    ),
  ),
);

/** Answers come in any order. */
export function byClaim(
  a: { readonly id: number; readonly lockedBy: string },
  b: { readonly id: number; readonly lockedBy: string },
): number {
  return a.id - b.id || (a.lockedBy < b.lockedBy ? -1 : 1);
}
