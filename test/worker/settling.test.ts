/** What is no plain promise: iterators that a handler gives, and thenables that settle more than once. */
import { expect, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { type TaskHandler, useWorkers } from './stage.js';

const database = useDatabase();
const { startTask } = useWorkers(database);

type Settle = (value?: unknown) => void;

/** A thenable, as another promise library may have it. */
function thenable(then: (resolve: Settle, reject: Settle) => void): object {
  return Object.defineProperty({}, 'then', { value: then });
}

const handlers: Record<string, [() => unknown, 'completed' | 'discarded']> = {
  'a generator, which nobody runs': [
    function* () {
      yield 1;
      throw new Error('not reached');
    },
    'completed',
  ],
  'an async generator': [
    async function* () {
      yield 1;
    },
    'completed',
  ],
  'a thenable that resolves twice': [
    () =>
      thenable((resolve) => {
        resolve();
        resolve();
        setImmediate(resolve);
      }),
    'completed',
  ],
  'a thenable that resolves, then rejects and throws': [
    () =>
      thenable((resolve, reject) => {
        resolve();
        reject(new Error('late'));
        throw new Error('later');
      }),
    'completed',
  ],
  'a thenable that rejects, then resolves': [
    () =>
      thenable((resolve, reject) => {
        reject(new Error('no luck'));
        resolve();
      }),
    'discarded',
  ],
};

it.each(Object.keys(handlers))('%s ends the job once', async (name) => {
  const [handler, end] = handlers[name] ?? [() => undefined, 'completed'];
  const { add, seen, worker } = await startTask(handler as TaskHandler, { maxAttempts: 1 });
  const id = await add(1);
  await until(() => seen[end].length, { what: 'the end' });
  await worker.stop();
  expect([...seen.completed, ...seen.discarded].map((event) => event.job.id)).toEqual([id]);
  expect(seen).toMatchObject({ error: [], lost: [], unknown: [] });
});
