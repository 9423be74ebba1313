/** A worker's options checked once, and frozen with every default filled in. */
import { checkTables, publicTables } from '../database/any-tables.js';
import { assertExecutor, isSingleClient, isTransaction } from '../database/executor.js';
import { sessionOpener } from '../database/session.js';
import { tableName } from '../database/table-name.js';
import { namesOf } from '../registry/aliases.js';
import type { KindsOn } from '../registry/handlers.js';
import { jobDefaults } from '../registry/job-options.js';
import {
  type AnyJobType,
  type AnyRegistry,
  assertRegistry,
  type JobTypes,
  queueOf,
} from '../registry/registry.js';
import { checkFunction, checkKeys, wholeNumber } from '../words/checks.js';
import { didYouMean, invalidOption, QueueError, show } from '../words/errors.js';
import type { Log } from './log.js';
import type { ServedKind, Settings, WorkerOptions } from './options.js';

const keys = [
  'db',
  'directDb',
  'registry',
  'queues',
  'handlers',
  'kinds',
  'tables',
  'pollIntervalMs',
  'heartbeatMs',
  'graceMs',
  'log',
];

/** Throws a `QueueError` for what the compiler refuses too, since plain JavaScript comes this way as well. */
export function checkWorkerOptions<
  Kinds extends JobTypes,
  Queue extends Kinds[keyof Kinds]['$queue'],
  Kind extends KindsOn<Kinds, Queue>,
>(options: WorkerOptions<Kinds, Queue, Kind>): Settings {
  checkKeys('createWorker(…)', options, keys);
  const {
    db,
    directDb,
    registry,
    queues,
    handlers,
    tables = publicTables,
    pollIntervalMs = 1_000,
    heartbeatMs = 10_000,
    graceMs = 25_000,
    log = console,
  } = options;
  assertExecutor(db, 'as `db`');
  if (isTransaction(db))
    throw new QueueError('INVALID_EXECUTOR', 'Expected `db` to be a database, got a transaction.');
  if (isSingleClient(db)) {
    throw new QueueError(
      'INVALID_EXECUTOR',
      'Expected `db` to have a pool, got a single pg Client: the worker would claim and finish inside the transactions of its handlers. Use a pg Pool.',
    );
  }
  if (directDb !== undefined) checkDirectDb(directDb);
  assertRegistry(registry);
  const slots = checkQueues(registry, queues);
  const kinds = servedKinds(registry, slots, options.kinds);
  const served = checkHandlers(registry, kinds, handlers);
  wholeNumber('heartbeatMs', heartbeatMs, 100, 600_000);
  const rescueAfterMs = checkHeartbeat(registry, kinds, heartbeatMs);
  const checked = checkTables(tables);
  const { jobs } = checked;
  return Object.freeze({
    db,
    directDb,
    tables: checked,
    jobs,
    table: tableName(jobs),
    slots,
    kinds: served,
    servesAllKinds: kinds.length === servedKinds(registry, slots, undefined).length,
    pollIntervalMs: wholeNumber('pollIntervalMs', pollIntervalMs, 10, 3_600_000),
    heartbeatMs,
    leaseMs: rescueAfterMs,
    heartbeatLimitMs: Math.max(100, Math.round((rescueAfterMs - heartbeatMs) / 3)),
    graceMs: wholeNumber('graceMs', graceMs, 0, 3_600_000),
    log: checkLog(log),
  });
}

function checkDirectDb(directDb: unknown): void {
  assertExecutor(directDb, 'as `directDb`');
  if (sessionOpener(directDb)) return;
  throw invalidOption(
    'directDb',
    'a Drizzle database on postgres.js, or on a Pool of node-postgres',
    directDb,
  );
}

/** The shortest `rescueAfterMs` of the kinds served, which leaves room for two heartbeats. */
function checkHeartbeat(registry: AnyRegistry, kinds: readonly string[], heartbeatMs: number): number {
  let shortest = Number.POSITIVE_INFINITY;
  for (const kind of kinds) {
    const { rescueAfterMs = jobDefaults.rescueAfterMs } = definition(registry, kind).options;
    shortest = Math.min(shortest, rescueAfterMs);
    if (heartbeatMs * 2 <= rescueAfterMs) continue;
    throw invalidOption(
      'heartbeatMs',
      `at most half of ${show(kind)}'s rescueAfterMs (${rescueAfterMs})`,
      heartbeatMs,
    );
  }
  return shortest;
}

function checkQueues(registry: AnyRegistry, queues: object): ReadonlyMap<string, number> {
  if (typeof queues !== 'object' || queues === null || Array.isArray(queues)) {
    throw invalidOption('queues', 'an object such as { mail: 5 }', queues);
  }
  if (Object.keys(queues).length === 0) throw invalidOption('queues', 'at least one queue', queues);
  const slots = new Map<string, number>();
  for (const [queue, count] of Object.entries(queues)) {
    slots.set(queueOf(registry, queue), wholeNumber(`queues[${show(queue)}]`, count, 1, 10_000));
  }
  return slots;
}

function servedKinds(
  registry: AnyRegistry,
  slots: ReadonlyMap<string, number>,
  given: readonly string[] | undefined,
): readonly string[] {
  const onQueues = Object.keys(registry.kinds).filter((kind) => slots.has(definition(registry, kind).$queue));
  if (given === undefined) return onQueues;
  if (!Array.isArray(given) || given.length === 0)
    throw invalidOption('kinds', 'a list of at least one kind', given);
  for (const kind of given) {
    if (onQueues.includes(kind)) continue;
    throw new QueueError(
      'UNKNOWN_KIND',
      `\`kinds\` names ${show(kind)}, which is no kind on the queues served.${didYouMean(String(kind), onQueues)}`,
      { data: { kind } },
    );
  }
  return [...new Set(given)];
}

/** The handlers by kind as a worker runs them; exactly those of the kinds. */
export function checkHandlers(
  registry: AnyRegistry,
  kinds: readonly string[],
  handlers: object,
): ReadonlyMap<string, ServedKind> {
  if (typeof handlers !== 'object' || handlers === null) {
    throw invalidOption('handlers', 'an object of handlers by kind', handlers);
  }
  const given = new Map<string, unknown>(Object.entries(handlers));
  for (const kind of given.keys()) {
    if (kinds.includes(kind)) continue;
    throw unknownHandler(registry, kinds, kind);
  }
  return new Map(
    kinds.flatMap((kind): [string, ServedKind][] => {
      const handler = given.get(kind);
      if (handler === undefined) {
        throw new QueueError(
          'MISSING_HANDLER',
          `There is no handler for ${show(kind)}, which is on a queue served. Give one, or name the kinds to serve in \`kinds\`.`,
          { data: { kind } },
        );
      }
      const served = servedKind(registry, kind, handler);
      return namesOf(registry.kinds, kind).map((name) => [name, served]);
    }),
  );
}

/** A kind as it is run, with its handler, which may be anything. */
export function servedKind(registry: AnyRegistry, kind: string, handler: unknown): ServedKind {
  checkFunction(`handlers[${show(kind)}]`, handler);
  const { options, version, upgrades, $onComplete } = definition(registry, kind);
  const { timeoutMs = jobDefaults.timeoutMs, retry } = options;
  return {
    name: kind,
    handler: handler as ServedKind['handler'],
    timeoutMs,
    retry,
    keeps: $onComplete === 'keep',
    version,
    upgrades,
  };
}

/** Left out in silence, its jobs would wait for a worker that was meant to be this one. */
function unknownHandler(registry: AnyRegistry, kinds: readonly string[], kind: string): QueueError {
  const elsewhere = Object.hasOwn(registry.kinds, kind) ? registry.kinds[kind] : undefined;
  const why = elsewhere
    ? `which is on queue ${show(elsewhere.$queue)} and not served: name it in \`queues\` and \`kinds\`, or leave the handler out.`
    : `which is no kind on the queues served.${didYouMean(kind, kinds)}`;
  return new QueueError('UNKNOWN_HANDLER', `There is a handler for ${show(kind)}, ${why}`, {
    data: { kind },
  });
}

function definition(registry: AnyRegistry, kind: string): AnyJobType {
  const type = registry.kinds[kind];
  if (type) return type;
  throw new QueueError('UNKNOWN_KIND', `The registry has no kind ${show(kind)}.`, { data: { kind } });
}

function checkLog(log: Log | false): Log | undefined {
  if (log === false) return undefined;
  for (const level of ['info', 'warn', 'error'] as const) checkFunction(`log.${level}`, log?.[level]);
  return log;
}
