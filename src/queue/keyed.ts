/** Inserts of jobs with a dedupe key, repeated until each answer names a job. */
import type { Executor } from '../database/executor.js';
import { isTableFault } from '../database/sqlstate.js';
import type { TableName } from '../database/table-name.js';
import type { KeyedAnswer, KeyedJob } from '../sql/enqueue.js';
import { enqueueOnce } from '../sql/enqueue-once.js';
import { enqueueOnceMany, keyText } from '../sql/enqueue-once-many.js';
import { enqueueReplacing } from '../sql/enqueue-replacing.js';
import { enqueueThrottled } from '../sql/enqueue-throttled.js';
import type { JobNotification, Notifications } from '../sql/notify.js';
import { QueueError, show } from '../words/errors.js';
import { batches } from './batches.js';
import type { Dedupe } from './dedupe.js';
import type { CheckedJob } from './enqueue-options.js';
import { tableNotGiven, tableNotThere } from './table-missing.js';

/** Races take two or three; a job that cannot be seen would take them for ever. */
const mostTries = 10;

/** The tables behind it; that of throttles is missing where the app has not given it. */
export interface KeyedTables {
  readonly jobs: TableName;
  readonly throttle: TableName | undefined;
}

/** A job with a dedupe key. */
export type Keyed = CheckedJob & KeyedJob & { readonly dedupe: Dedupe };

/** The job with its key where the statements look for it, or undefined when it has none. */
export function keyedOf(job: CheckedJob): Keyed | undefined {
  return job.dedupe && { ...job, dedupe: job.dedupe, key: job.dedupe.key };
}

/** Inserts one, or names the job that holds its key. Notifications go out where there is news. */
export async function insertKeyed(
  tx: Executor,
  tables: KeyedTables,
  job: Keyed,
  notifications?: Notifications | JobNotification | undefined,
): Promise<KeyedAnswer> {
  for (let tries = 1; tries <= mostTries; tries++) {
    const answer = await insertOnce(tx, tables, job, notifications);
    // A throttle's first try has drawn no id.
    const lost = job.dedupe.onDuplicate === 'throttle' ? 0 : tries - 1;
    if (answer) return { ...answer, lostIds: answer.lostIds + lost };
  }
  throw notSeen(job);
}

async function insertOnce(
  tx: Executor,
  { jobs, throttle }: KeyedTables,
  job: Keyed,
  notifications: Notifications | JobNotification | undefined,
): Promise<KeyedAnswer | undefined> {
  const { onDuplicate, maxWaitMs, periodMs } = job.dedupe;
  if (onDuplicate === 'skip') return enqueueOnce(tx, jobs, job, notifications);
  if (onDuplicate === 'throttle') {
    if (!throttle) throw tableNotGiven(throttleTable);
    return enqueueThrottled(tx, jobs, throttle, { ...job, periodMs }, notifications).catch(
      (error: unknown) => {
        throw isTableFault(error) ? tableNotThere(throttleTable, error) : error;
      },
    );
  }
  const replacing = { ...job, maxWaitMs, again: onDuplicate === 'again' };
  return enqueueReplacing(tx, jobs, replacing, notifications);
}

/**
 * Inserts many, in the order of their kinds and keys whatever that of the list is, so that two lists wait for each other
 * in one direction only; answers in the order of the list. Tells nobody.
 */
export async function insertManyKeyed(
  tx: Executor,
  tables: KeyedTables,
  list: readonly Keyed[],
): Promise<KeyedAnswer[]> {
  const answers = new Map<Keyed, KeyedAnswer>();
  for (const run of runsOf(sortedByKey(list))) {
    const [first] = run;
    if (first.dedupe.onDuplicate === 'skip') await insertRun(tx, tables.jobs, run, answers);
    else answers.set(first, await insertKeyed(tx, tables, first));
  }
  return list.map((job) => answers.get(job) ?? fail(job));
}

function fail(job: Keyed): never {
  throw notSeen(job);
}

/** Jobs that are skipped where their key is held, in few statements. Of those with one key, the first decides for all. */
async function insertRun(
  tx: Executor,
  table: TableName,
  run: readonly Keyed[],
  answers: Map<Keyed, KeyedAnswer>,
): Promise<void> {
  const firstOf = new Map<string, Keyed>();
  for (const job of run) if (!firstOf.has(keyText(job))) firstOf.set(keyText(job), job);
  for (const batch of batches([...firstOf.values()])) {
    let open: readonly Keyed[] = batch;
    for (let tries = 1; open.length > 0 && tries <= mostTries; tries++) {
      const found = await enqueueOnceMany(tx, table, open);
      for (const [n, job] of open.entries()) {
        const answer = found[n];
        if (answer) answers.set(job, { ...answer, lostIds: answer.lostIds + tries - 1 });
      }
      open = open.filter((job) => !answers.has(job));
    }
    if (open[0]) throw notSeen(open[0]);
  }
  for (const job of run) {
    const first = firstOf.get(keyText(job));
    const answer = first && answers.get(first);
    if (answer && first !== job)
      answers.set(job, { id: answer.id, duplicate: true, news: false, lostIds: 0 });
  }
}

/** Neighbours that are skipped together; each of the others alone. */
function* runsOf(list: readonly Keyed[]): Generator<readonly [Keyed, ...Keyed[]]> {
  let run: [Keyed, ...Keyed[]] | undefined;
  for (const job of list) {
    if (run && run[0].dedupe.onDuplicate === 'skip' && job.dedupe.onDuplicate === 'skip') run.push(job);
    else {
      if (run) yield run;
      run = [job];
    }
  }
  if (run) yield run;
}

/** The same order in every process; jobs of one key keep that of the list. */
function sortedByKey(list: readonly Keyed[]): Keyed[] {
  return list
    .map((job) => ({ job, text: keyText(job) }))
    .sort((one, other) => (one.text < other.text ? -1 : one.text > other.text ? 1 : 0))
    .map(({ job }) => job);
}

/** Throws where a job needs a table that the app has not given: before any SQL, so that a transaction stays usable. */
export function checkKeyedTables({ throttle }: KeyedTables, list: readonly CheckedJob[]): void {
  if (!throttle && list.some(({ dedupe }) => dedupe?.onDuplicate === 'throttle'))
    throw tableNotGiven(throttleTable);
}

const throttleTable = {
  name: 'job_throttle',
  exported: 'jobThrottle',
  feature: "`onDuplicate: 'throttle'`",
};

function notSeen({ kind, key }: Keyed): QueueError {
  return new QueueError(
    'DUPLICATE_NOT_SEEN',
    `The job was not inserted, and in ${mostTries} tries no job of ${show(kind)} with the dedupe key ${show(key)} was seen. ` +
      'Row-level security hides it, or a trigger on the table drops what is inserted.',
    { data: { kind, dedupeKey: key, tries: mostTries } },
  );
}
