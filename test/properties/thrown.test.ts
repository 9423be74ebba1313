/**
 * Whatever a handler throws, returns or gives to its job, and whatever a kind's `retry` answers: the job is recorded,
 * and the worker goes on.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createQueue, defineJobs, type JobContext, job } from '../../src/index.js';
import { errorBriefLimit, errorTextLimit } from '../../src/words/error-text.js';
import { createWorker } from '../../src/worker.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { useWorkers } from '../worker/stage.js';
import { type Hostile, hostile } from './hostile.js';

/** What the handler does with a value. */
const ways = [
  'throw',
  'reject',
  'return',
  'retry',
  'snooze',
  'discard',
  'complete',
  'throw after snooze',
] as const;

interface Act {
  readonly way: (typeof ways)[number];
  readonly value: Hostile;
}

const acts = fc.array(fc.record({ way: fc.constantFrom(...ways), value: hostile }), {
  minLength: 1,
  maxLength: 20,
});

const database = useDatabase();
const { watch } = useWorkers(database);
/** Of the jobs at hand, by their number. */
let current: readonly Act[] = [];
const lines: string[] = [];
const log = (line: string): void => void lines.push(line);

const registry = defineJobs({
  act: job<{ n: number }>({
    maxAttempts: 2,
    retry: (_error, _attempt, { n }) =>
      plainly(() => (current[n]?.way === 'retry' ? current[n].value.make() : undefined)),
  }),
});
const queue = createQueue(registry);

it('every job is recorded, none is tried without end, and the worker goes on', async () => {
  const worker = createWorker({
    db: database.db,
    registry,
    queues: { default: 10 },
    pollIntervalMs: 10,
    log: { info: log, warn: log, error: log },
    handlers: { act: ({ n }, context) => perform(current[n], context) },
  });
  const seen = watch(worker);
  await worker.start();

  await fc.assert(
    fc.asyncProperty(acts, async (these) => {
      current = these;
      await database.sql`delete from jobs`;
      for (const list of Object.values(seen)) list.length = 0;
      const list = these.map((_, n) => ({ kind: 'act', payload: { n } }) as const);
      const enqueued = await queue.enqueueMany(database.db, list);
      await until(noneLeft, { what: 'every job to end or to wait' });
      // The events come when the worker has the answer, a moment after the rows say so.
      const ended = () => [...seen.completed, ...seen.failed, ...seen.discarded, ...seen.snoozed];
      await until(() => ended().length >= enqueued.length, { what: 'their events' });

      const rows = await database.sql<Recorded[]>`
        select (payload->>'n')::int as n, state, attempts, last_error as text, errors from jobs order by id`;
      for (const row of rows) expectRecorded(row, these[row.n]);
      expect(new Set(ended().map((event) => event.job.id))).toEqual(new Set(enqueued.map(({ id }) => id)));
      expect(seen.error.filter(({ during }) => during !== 'retry' && during !== 'handler')).toEqual([]);
      for (const line of lines.splice(0)) expect(line).toMatch(/^drizzle-queue: [^\p{Cc}\p{Cs}]+$/u);
    }),
    { numRuns: 60 },
  );
});

interface Recorded {
  readonly n: number;
  readonly state: string;
  readonly attempts: number;
  readonly text: string | null;
  readonly errors: readonly { readonly error: string }[];
}

async function noneLeft(): Promise<boolean> {
  const [left] = await database.sql`
    select count(*)::int as n from jobs where state = 'running' or (state = 'available' and run_at <= now())`;
  return left?.['n'] === 0;
}

function expectRecorded({ state, attempts, text, errors }: Recorded, act: Act | undefined): void {
  if (act?.way === 'throw after snooze')
    return expect({ state, attempts, text }).toEqual({ state: 'available', attempts: 0, text: null });
  expect({ state, attempts }).toEqual(
    state === 'available' ? { state, attempts: 1 } : { state: 'discarded', attempts },
  );
  const kept = [text ?? '', ...errors.map(({ error }) => error)];
  expect(kept.map((error) => error.length > 0 && error.isWellFormed())).toEqual(kept.map(() => true));
  expect(kept[0]?.length).toBeLessThanOrEqual(errorTextLimit);
  expect(Math.max(...kept.slice(1).map((error) => error.length))).toBeLessThanOrEqual(errorBriefLimit);
  expect(errors).toHaveLength(attempts);
}

function perform(act: Act | undefined, context: JobContext<'act'>): void | Promise<void> {
  if (!act) throw new Error('There is nothing to do.');
  const { way } = act;
  const value = act.value.make();
  switch (way) {
    case 'throw':
    case 'retry':
      throw value;
    case 'reject':
      return Promise.reject(value);
    case 'return':
      return plainly(() => value);
    case 'throw after snooze':
      context.snooze({ delayMs: 3_600_000 });
      throw value;
    case 'complete':
      return plainly(async () => Reflect.apply(context.complete, undefined, [value]));
    default:
      return plainly(() => Reflect.apply(context[way], undefined, [value]));
  }
}

/** As plain JavaScript would answer, with anything. */
function plainly(answer: () => unknown): never {
  return answer() as never;
}
