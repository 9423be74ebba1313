/** `enqueued` and `assertEnqueued`: the jobs that the code under test has enqueued. */
import { type AnyQueueTables, checkTables } from '../database/any-tables.js';
import { assertExecutor, type Executor } from '../database/executor.js';
import { tableName } from '../database/table-name.js';
import { readRow } from '../queue/read-row.js';
import { namesOf } from '../registry/aliases.js';
import { payloadText } from '../registry/payload.js';
import { type AnyRegistry, assertRegistry, kindOf } from '../registry/registry.js';
import { type WaitingJob, waitingJobs, waitingKinds } from '../sql/waiting-jobs.js';
import { QueueError, show } from '../words/errors.js';
import type { StoredPayload } from '../words/row-types.js';
import { contains } from './contains.js';

/** A job that waits, of a kind with this payload, as the registry has it today. */
export interface EnqueuedJob<Kind extends string, Payload> {
  readonly id: number;
  readonly kind: Kind;
  readonly queue: string;
  readonly payload: Payload;
  readonly priority: number;
  /** When it is due. An infinite time is the end of the year 9999, or the beginning of 1. */
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

/** Which payloads fit: those that contain this (as `@>` of Postgres), or for which the function says true. */
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
 * The jobs of a kind that wait, also those that are due later, by id; with `match`, those whose payload fits. Rows that have
 * an alias of the kind are among them, and payloads are upgraded before they are matched, as `queue.read` does.
 *
 * @throws QueueError `UNKNOWN_KIND`, `INVALID_PAYLOAD` (of `match`), `INVALID_EXECUTOR`; `PAYLOAD_NOT_UPGRADED` where a row
 * of this kind cannot be
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
  const fits = matcher(kind, match);
  return (await waiting(tx, queue, kind)).filter(({ payload }) => fits(payload));
}

function matcher(kind: string, match: unknown): (payload: unknown) => boolean {
  if (match === undefined) return () => true;
  if (typeof match === 'function') return (payload) => match(payload) === true;
  const part: unknown = JSON.parse(payloadText(kind, match, Number.POSITIVE_INFINITY));
  return (payload) => contains(payload, part);
}

/** All of the kind, each with the payload that its handler would be given. */
async function waiting(tx: Executor, queue: TestedQueue<AnyRegistry>, kind: string): Promise<WaitingJob[]> {
  const table = tableName(checkTables(queue.tables).jobs);
  const found = await waitingJobs(tx, table, namesOf(queue.registry.kinds, kind));
  return found.map((job) => ({ ...job, payload: readRow(queue.registry, job).payload }));
}

/** What is stored under a kind is what the registry says of it: nothing is checked, as everywhere. */
function typed<Kind extends string, Payload>(kind: Kind, job: WaitingJob): EnqueuedJob<Kind, Payload> {
  const { payloadVersion: _, ...rest } = job;
  return { ...rest, kind, payload: job.payload as Payload };
}

/** So many jobs are listed in a message. */
const mostListed = 5;

async function notEnqueued(
  tx: Executor,
  queue: TestedQueue<AnyRegistry>,
  kind: string,
  match: unknown,
): Promise<QueueError> {
  const which =
    match === undefined ? '' : typeof match === 'function' ? ' that fits' : ` with ${shown(match)}`;
  const same = await waiting(tx, queue, kind);
  const message = `No job of ${show(kind)}${which} waits.`;
  if (same.length > 0) {
    const listed = same.slice(0, mostListed).map(({ payload }) => shown(payload));
    const more = same.length > mostListed ? `, and ${same.length - mostListed} more` : '';
    const these = `${message} Of this kind wait: ${listed.join(', ')}${more}.`;
    return new QueueError('NOT_ENQUEUED', these, { data: { kind, waiting: same.length } });
  }
  const counts = await waitingKinds(tx, tableName(checkTables(queue.tables).jobs));
  const others = [...counts].map(([other, n]) => `${n} of ${show(other)}`);
  const instead = others.length === 0 ? 'Nothing waits.' : `There wait ${others.join(', ')}.`;
  return new QueueError('NOT_ENQUEUED', `${message} ${instead}`, { data: { kind, waiting: 0 } });
}

function shown(payload: unknown): string {
  const text = JSON.stringify(payload);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
