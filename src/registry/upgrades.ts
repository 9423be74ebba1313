/** Payloads of older releases: the steps that bring them up to date, one version at a time. */

import { checkFunction } from '../words/checks.js';
import { errorBrief } from '../words/error-text.js';
import { invalidOption, QueueError, show } from '../words/errors.js';

/** One step: from payloads of a version to those of the next. */
export interface Upgrade {
  readonly from: number;
  /** A method, so that it takes a function of whatever payload: what a row holds, no type shows. */
  upgrade(old: unknown): unknown;
}

/** The version of a kind's payloads, and the steps to it, the newest first. */
export interface Versioned {
  readonly version: number;
  readonly upgrades: readonly Upgrade[];
}

/** The steps with one more behind them, which comes from the version below the last; else `INVALID_OPTION`. */
export function withUpgrade(
  { version, upgrades }: Versioned,
  { from, upgrade }: Upgrade,
): readonly Upgrade[] {
  const oldest = upgrades.at(-1)?.from ?? version;
  if (oldest === 1) {
    const expected =
      upgrades.length === 0
        ? 'called for a kind whose `version` is above 1, as in job({ version: 2 })'
        : 'called once for each version, and none is below 1';
    throw invalidOption('upgradeFrom(…)', expected, from);
  }
  if (from !== oldest - 1) {
    throw invalidOption(
      'upgradeFrom(…)',
      `called with ${oldest - 1} here, the version below ${oldest}`,
      from,
    );
  }
  checkFunction(`upgradeFrom(${from}, …)`, upgrade);
  return Object.freeze([...upgrades, Object.freeze({ from, upgrade })]);
}

/**
 * The payload in the kind's own version, or `PAYLOAD_NOT_UPGRADED`. What it is given stays as it is.
 *
 * As in an enqueue, a payload of `undefined` is `{}`.
 */
export function upToDate(kind: string, type: Versioned, payload: unknown, version: number): unknown {
  if (version === type.version) return payload;
  const steps = type.upgrades.filter(({ from }) => from >= version).reverse();
  if (steps[0]?.from !== version) throw noWay(kind, type, version);
  let upgraded: unknown = structuredClone(payload); // a step may change what it is given
  for (const step of steps) upgraded = upgradedBy(step, upgraded, { kind, version, newest: type.version });
  return upgraded;
}

/** What an error of it speaks of: the row's version, and the kind's. */
interface Way {
  readonly kind: string;
  readonly version: number;
  readonly newest: number;
}

function upgradedBy(step: Upgrade, payload: unknown, way: Way): unknown {
  try {
    const upgraded = step.upgrade(payload);
    if (isThenable(upgraded)) {
      Promise.resolve(upgraded).catch(() => {}); // not awaited, but it must not end the process
      throw new TypeError('It gave a promise, and payloads are upgraded at once');
    }
    return upgraded === undefined ? {} : upgraded;
  } catch (cause) {
    const what = `The payload of ${show(way.kind)} could not be upgraded from version ${step.from} to ${step.from + 1}`;
    throw new QueueError('PAYLOAD_NOT_UPGRADED', `${what}: ${errorBrief(cause)}.`, {
      data: { ...way },
      cause,
    });
  }
}

function noWay(kind: string, type: Versioned, version: number): QueueError {
  const known = `The payload of ${show(kind)} has version ${version}`;
  const message =
    version > type.version
      ? `${known}, and the registry knows none above ${type.version}: a newer release of the app has enqueued it.`
      : `${known}, and the registry upgrades none below ${type.upgrades.at(-1)?.from ?? type.version}: ` +
        'add the steps from there with upgradeFrom(…), or remove such jobs.';
  return new QueueError('PAYLOAD_NOT_UPGRADED', message, { data: { kind, version, newest: type.version } });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
