/** The dedupe key of a job, and what happens when it is taken: as the enqueue says, or else its kind. */
import type { JobOptions, OnDuplicate } from '../registry/job.js';
import { checkOnDuplicate, jobDefaults, requirePeriod } from '../registry/job-options.js';
import { wrongKey } from '../words/checks.js';
import { invalidOption, QueueError, show } from '../words/errors.js';

export interface Dedupe {
  readonly key: string;
  readonly onDuplicate: OnDuplicate;
  readonly maxWaitMs: number | undefined;
  /** Of a throttle; 0 for others. */
  readonly periodMs: number;
}

/** What plain JavaScript may give as an enqueue's options. */
interface Given {
  readonly dedupeKey?: unknown;
  readonly onDuplicate?: unknown;
  readonly maxWaitMs?: unknown;
  readonly periodMs?: unknown;
}

/** Undefined for a job without a key. Throws `INVALID_OPTION`, also for what a kind's `dedupeKey` throws or gives. */
export function dedupeOf<Payload>(
  kind: string,
  type: JobOptions<Payload>,
  given: Given,
  payload: Payload,
): Dedupe | undefined {
  const onDuplicate = given.onDuplicate ?? type.onDuplicate ?? jobDefaults.onDuplicate;
  const times = { maxWaitMs: given.maxWaitMs ?? undefined, periodMs: given.periodMs ?? undefined };
  const checked = checkOnDuplicate(onDuplicate, times) ?? jobDefaults.onDuplicate;
  const periodMs = checked === 'throttle' ? requirePeriod(given.periodMs ?? type.periodMs) : 0;
  const key = given.dedupeKey == null ? keyOf(kind, type.dedupeKey, payload) : checkKey(given.dedupeKey);
  if (key === undefined) return undefined;
  const longest = checked === 'debounce' ? (given.maxWaitMs ?? type.maxWaitMs) : undefined;
  const maxWaitMs = typeof longest === 'number' ? longest : undefined;
  return { key, onDuplicate: checked, maxWaitMs, periodMs };
}

function checkKey(given: unknown): string {
  const wrong = wrongKey(given);
  if (wrong === undefined) return String(given);
  throw invalidOption('dedupeKey', wrong, given);
}

function keyOf<Payload>(
  kind: string,
  dedupeKey: JobOptions<Payload>['dedupeKey'],
  payload: Payload,
): string | undefined {
  if (dedupeKey === undefined) return undefined;
  let key: unknown;
  try {
    key = dedupeKey(payload);
  } catch (cause) {
    throw new QueueError('INVALID_OPTION', `The \`dedupeKey\` of ${show(kind)} threw.`, {
      data: { option: 'dedupeKey', kind },
      cause,
    });
  }
  if (key === undefined) return undefined;
  const expected = wrongKey(key);
  if (expected === undefined) return String(key);
  throw new QueueError(
    'INVALID_OPTION',
    `Expected the \`dedupeKey\` of ${show(kind)} to give ${expected}, or undefined for none, got ${show(key)}.`,
    { data: { option: 'dedupeKey', kind, expected, given: Object(key) === key ? show(key) : key } },
  );
}
