/** One run of a job inside a transaction, from its claim to its end: by the worker's own parts, on that transaction. */
import type { Transaction } from '../database/executor.js';
import type { TableName } from '../database/table-name.js';
import { upToDate } from '../registry/upgrades.js';
import type { ClaimedJob } from '../sql/claim.js';
import { endSavepoint, setSavepoint } from '../sql/savepoint.js';
import { QueueError } from '../words/errors.js';
import type { Outcome } from '../words/outcome.js';
import { endingIn } from '../worker/end-in.js';
import { createEvents, type Events } from '../worker/events.js';
import type { Run } from '../worker/execute.js';
import { failed, type OnFault } from '../worker/failure.js';
import { createFinisher } from '../worker/finisher.js';
import type { ServedKind } from '../worker/options.js';
import type { Statements } from '../worker/statements.js';
import { runToEnd } from './run-to-end.js';

/** How a run ended. */
type Ending =
  | { readonly outcome: 'completed' }
  /** Another attempt follows. */
  | { readonly outcome: 'failed'; readonly error: unknown; readonly retryInMs: number }
  /** No more attempts, or not worth one. */
  | { readonly outcome: 'discarded'; readonly error: unknown }
  | { readonly outcome: 'snoozed'; readonly dueInMs: number }
  /** The handler itself moved or deleted its row: how it ended changes nothing. */
  | { readonly outcome: 'lost' };

/** What a run was, and how it ended. */
export type DrainedRun<Kind extends string = string> = Ending & {
  readonly id: number;
  readonly kind: Kind;
  readonly queue: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Thrown after the run had its outcome, or by the kind's `retry`: an `error` event of a worker. */
  readonly fault?: unknown;
};

/** Runs it, and writes how that ended. Rejects where that cannot be written. */
export async function runInside(
  tx: Transaction,
  table: TableName,
  job: ClaimedJob,
  kind: ServedKind,
): Promise<DrainedRun> {
  const events = createEvents();
  const faults: unknown[] = [];
  const onFault = (error: unknown) => void faults.push(error);
  events.on('error', ({ error }) => onFault(error));
  await setSavepoint(tx);
  const { run, outcome: said } = await runToEnd(job, { kind, endIn: endingIn(table), onFault });
  const stands = await endSavepoint(tx);
  const outcome = stands || said?.move !== 'complete' ? said : undone(run, kind, onFault);
  const ending = outcome ? await written(tx, table, events, run, outcome) : ({ outcome: 'lost' } as const);
  const { id, queue, attempt } = job;
  return {
    id,
    kind: kind.name,
    queue,
    attempt,
    ...ending,
    ...(faults.length > 0 ? { fault: faults[0] } : {}),
  };
}

/** Its handler caught the error of a statement and resolved. */
function undone({ job }: Run, kind: ServedKind, onFault: OnFault): Outcome {
  const error = new QueueError(
    'JOB_ROLLED_BACK',
    `The handler of job ${job.id} resolved, though a statement of it had failed: in a transaction Postgres takes nothing more ` +
      'then, so all that it wrote is undone. Where a handler catches the error of a statement, it has to send that in a ' +
      'transaction of its own (`tx.transaction(…)`), which is a savepoint here.',
    { data: { id: job.id } },
  );
  const payload = upToDate(kind.name, kind, job.payload, job.payloadVersion);
  return failed(error, { attempt: job.attempt, payload }, kind, onFault);
}

/** Writes the outcome as a worker does, and gives what became of it. */
async function written(
  tx: Transaction,
  table: TableName,
  events: Events,
  run: Run,
  outcome: Outcome,
): Promise<Ending> {
  const ended = new Promise<Ending>((resolve, reject) => {
    events.on('completed', () => resolve({ outcome: 'completed' }));
    events.on('failed', ({ error, retryInMs }) => resolve({ outcome: 'failed', error, retryInMs }));
    events.on('discarded', ({ error }) => resolve({ outcome: 'discarded', error }));
    events.on('snoozed', ({ dueInMs }) => resolve({ outcome: 'snoozed', dueInMs }));
    events.on('lost', () => resolve({ outcome: 'lost' }));
    events.on('error', ({ error, during }) => {
      if (during === 'finish') reject(error); // in this transaction, no second try would go better
    });
  });
  const finisher = createFinisher(onTransaction(tx), table, events, () => {});
  finisher.add(run, outcome);
  try {
    return await ended;
  } finally {
    finisher.close();
  }
}

/** The transaction is open already, and what it sends has no limit in time but its own. */
function onTransaction(tx: Transaction): Statements {
  return {
    send: (statement) => statement(tx),
    useNames() {},
    tableHas() {},
    unbrokenForMs: () => 0,
  };
}
