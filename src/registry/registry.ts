/**
 * `defineJobs`: the kinds of jobs an app has, by name. All other types are inferred from its answer.
 *
 * Holds no handlers, so that a web process can enqueue without importing what the workers run.
 */
import { checkName } from '../words/checks.js';
import { didYouMean, invalidOption, QueueError, show } from '../words/errors.js';
import { checkAliases, kindOfAlias } from './aliases.js';
import { isJobType, type JobType, type OnComplete } from './job.js';

/** Kinds by name. */
// The one place where `any` stands: a registry holds kinds of every payload, and JobType is invariant in it.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type JobTypes = { readonly [kind: string]: JobType<any, any, string, any, string, OnComplete> };

/** A kind of whatever types, for what only moves its payloads about. */
export type AnyJobType = JobType<unknown, unknown, string, unknown, string, OnComplete>;

/** What {@link defineJobs} gives. */
export interface Registry<Kinds extends JobTypes = JobTypes> {
  readonly kinds: Kinds;
}

/** A registry of any kinds; the bound of types that take one. */
export interface AnyRegistry {
  readonly kinds: JobTypes;
}

/** The payload's type of one kind: `PayloadOf<typeof registry, 'sendReceipt'>`. */
export type PayloadOf<R extends AnyRegistry, Kind extends keyof R['kinds']> = R['kinds'][Kind]['$payload'];

/** The result's type of one kind. */
export type ResultOf<R extends AnyRegistry, Kind extends keyof R['kinds']> = R['kinds'][Kind]['$result'];

/**
 * Names the kinds of jobs. The name is stored in each row: a kind that is renamed needs its old name as an
 * {@link JobType.alias}, or its waiting rows have no handler.
 *
 * @throws QueueError `INVALID_OPTION` for a name that does not fit (1 to 128 characters), a value that `job()` did not
 * make, or an alias that is a kind or an alias of another one
 */
export function defineJobs<const Kinds extends JobTypes>(kinds: Kinds): Registry<Kinds> {
  if (typeof kinds !== 'object' || kinds === null) {
    throw invalidOption('defineJobs(…)', 'an object of kinds', kinds);
  }
  for (const [kind, type] of Object.entries(kinds)) {
    checkName('kind', kind);
    if (!isJobType(type)) throw invalidOption(`kinds[${show(kind)}]`, 'made with job(…)', type);
  }
  checkAliases(kinds);
  return Object.freeze({ kinds: Object.freeze({ ...kinds }) });
}

/** Throws unless this is what {@link defineJobs} gives. By shape: a bundler may make two copies of this module. */
export function assertRegistry(given: unknown): asserts given is AnyRegistry {
  const kinds: unknown =
    typeof given === 'object' && given !== null && 'kinds' in given ? given.kinds : undefined;
  if (typeof kinds === 'object' && kinds !== null && Object.values(kinds).every(looksLikeJobType)) return;
  throw invalidOption('registry', 'what defineJobs(…) gave', given);
}

function looksLikeJobType(type: unknown): boolean {
  if (typeof type !== 'object' || type === null || !('$queue' in type) || !('options' in type)) return false;
  if (!('$aliases' in type && Array.isArray(type.$aliases))) return false;
  if (!('upgrades' in type && Array.isArray(type.upgrades))) return false;
  return typeof type.$queue === 'string' && typeof type.options === 'object' && type.options !== null;
}

/** The name of a queue that a kind of the registry is on, or `UNKNOWN_QUEUE`: no worker could serve another. */
export function queueOf(registry: AnyRegistry, queue: unknown): string {
  const names = queueNames(registry);
  const found = names.find((name) => name === queue);
  if (found !== undefined) return found;
  const near = typeof queue === 'string' ? didYouMean(queue, names) : '';
  throw new QueueError(
    'UNKNOWN_QUEUE',
    `No kind of the registry is on queue ${show(queue)}.${near} Known are: ${names.join(', ')}.`,
    { data: { queue } },
  );
}

function queueNames(registry: AnyRegistry): string[] {
  return [...new Set(Object.values(registry.kinds).map((type) => type.$queue))];
}

/** The definition of a kind, or `UNKNOWN_KIND`. Names such as `constructor` are not found by accident. */
export function kindOf(registry: AnyRegistry, kind: unknown): AnyJobType {
  if (typeof kind === 'string' && Object.hasOwn(registry.kinds, kind)) {
    const type = registry.kinds[kind];
    if (type) return type;
  }
  const names = Object.keys(registry.kinds);
  const near = typeof kind === 'string' ? didYouMean(kind, names) : '';
  const renamed = kindOfAlias(registry.kinds, kind);
  const advice =
    renamed === undefined
      ? `${near} Name it in defineJobs(…).`
      : ` It is an alias of ${show(renamed)}: use that.`;
  throw new QueueError('UNKNOWN_KIND', `The registry has no kind ${show(kind)}.${advice}`, {
    data: { kind },
  });
}
