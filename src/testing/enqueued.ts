/** `enqueued` and `assertEnqueued`: the jobs that the code under test has enqueued. */
import { type AnyQueueTables, checkTables } from '../database/any-tables.js';
import { assertExecutor, type Executor } from '../database/executor.js';
import { tableName } from '../database/table-name.js';
import { payloadText } from '../registry/payload.js';
import { type AnyRegistry, assertRegistry, kindOf } from '../registry/registry.js';
import { type WaitingJob, waitingJobs, waitingKinds } from '../sql/waiting-jobs.js';
import { QueueError, show } from '../words/errors.js';
import type { StoredPayload } from '../words/row-types.js';

/** A job that waits, of a kind with this payload. */
export interface EnqueuedJob<Kind extends string, Payload> {
  readonly id: number;
  readonly kind: Kind;
  readonly queue: string;
  readonly payload: Payload;
  readonly priority: number;
  /** When it is due. */
  readonly runAt: Date;
  /** How often it has started: 0 for one that was enqueued, more for one that waits for a retry. */
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly dedupeKey: string | null;
}

/** What is known of a payload: some of its properties, at any depth; an array contains each element that is named. */
export type PartOf<Payload> = Payload extends readonly (infer Element)[]
  ? readonly PartOf<Element>[]
  : Payload extends object
    ? { readonly [Key in keyof Payload]?: PartOf<Payload[Key]> | undefined }
    : Payload;

/** Which payloads fit: those that contain this, or for which the function says true. */
export type PayloadMatch<Payload> = PartOf<Payload> | ((payload: Payload) => boolean);

/** What is used of a queue. */
export interface TestedQueue<R extends AnyRegistry> {
  readonly registry: R;
  readonly tables: AnyQueueTables;
}

type PayloadIn<R extends AnyRegistry, Kind extends keyof R['kinds']> = StoredPayload<
  R['kinds'][Kind]['$payload']
>;

/**
 * The jobs of a kind that wait, also those that are due later, by id; with `match`, those whose payload fits.
 *
 * @throws QueueError `UNKNOWN_KIND`, `INVALID_PAYLOAD` (of `match`), `INVALID_EXECUTOR`
 */
export async function enqueued<R extends AnyRegistry, Kind extends keyof R['kinds'] & string>(
  tx: Executor,
  queue: TestedQueue<R>,
  kind: Kind,
  match?: PayloadMatch<PayloadIn<R, Kind>>,
): Promise<EnqueuedJob<Kind, PayloadIn<R, Kind>>[]> {
  const found = await find(tx, queue, kind, match);
  return found.map((job) => typed<Kind, PayloadIn<R, Kind>>(kind, job));
}

/**
 * The first of the jobs that {@link enqueued} gives.
 *
 * @throws QueueError as that; `NOT_ENQUEUED` where there is none, with what waits instead in its message
 */
export async function assertEnqueued<R extends AnyRegistry, Kind extends keyof R['kinds'] & string>(
  tx: Executor,
  queue: TestedQueue<R>,
  kind: Kind,
  match?: PayloadMatch<PayloadIn<R, Kind>>,
): Promise<EnqueuedJob<Kind, PayloadIn<R, Kind>>> {
  const [first] = await find(tx, queue, kind, match);
  if (first) return typed<Kind, PayloadIn<R, Kind>>(kind, first);
  throw await notEnqueued(tx, queue, kind, match);
}

async function find(
  tx: Executor,
  queue: TestedQueue<AnyRegistry>,
  kind: string,
  match: unknown,
): Promise<WaitingJob[]> {
  assertExecutor(tx);
  assertRegistry(queue?.registry);
  kindOf(queue.registry, kind);
  const table = tableName(checkTables(queue.tables).jobs);
  if (typeof match === 'function') {
    const all = await waitingJobs(tx, table, kind, undefined);
    return all.filter(({ payload }) => match(payload) === true);
  }
  const containing = match === undefined ? undefined : payloadText(kind, match, Number.POSITIVE_INFINITY);
  return waitingJobs(tx, table, kind, containing);
}

/** What is stored under a kind is what the registry says of it: nothing is checked, as everywhere. */
function typed<Kind extends string, Payload>(kind: Kind, job: WaitingJob): EnqueuedJob<Kind, Payload> {
  return { ...job, kind, payload: job.payload as Payload };
}

/** So many jobs are listed in a message. */
const mostListed = 5;

async function notEnqueued(
  tx: Executor,
  queue: TestedQueue<AnyRegistry>,
  kind: string,
  match: unknown,
): Promise<QueueError> {
  const table = tableName(checkTables(queue.tables).jobs);
  const which =
    match === undefined ? '' : typeof match === 'function' ? ' that fits' : ` with ${shown(match)}`;
  const same = await waitingJobs(tx, table, kind, undefined);
  const message = `No job of ${show(kind)}${which} waits.`;
  if (same.length > 0) {
    const listed = same.slice(0, mostListed).map(({ payload }) => shown(payload));
    const more = same.length > mostListed ? `, and ${same.length - mostListed} more` : '';
    const these = `${message} Of this kind wait: ${listed.join(', ')}${more}.`;
    return new QueueError('NOT_ENQUEUED', these, { data: { kind, waiting: same.length } });
  }
  const others = [...(await waitingKinds(tx, table))].map(([other, n]) => `${n} of ${show(other)}`);
  const instead = others.length === 0 ? 'Nothing waits.' : `There wait ${others.join(', ')}.`;
  return new QueueError('NOT_ENQUEUED', `${message} ${instead}`, { data: { kind, waiting: 0 } });
}

function shown(payload: unknown): string {
  const text = JSON.stringify(payload);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
