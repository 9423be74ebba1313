/**
 * Keeps a killed backend from ending the process. node-postgres emits `error` on its pool (for an idle client) or on
 * the client (for one that is checked out), and Node throws where nobody listens. Other drivers need no help.
 */
import type { Executor } from './executor.js';

interface Emitter {
  on(event: string, listener: (...args: never[]) => void): unknown;
  off(event: string, listener: (...args: never[]) => void): unknown;
}

type Report = (error: unknown) => void;

/** Pools that are listened to: one set of listeners each, however many workers share it. */
const watched = new WeakMap<Emitter, { readonly reports: Set<Report>; unlisten(): void }>();

/**
 * Passes such errors of the database's node-postgres pool to `report` until the returned function is called. Each
 * client gets one listener for its life, so that many checkouts do not add up.
 */
export function watchPool(db: Executor, report: Report): () => void {
  const pool: unknown = '$client' in db ? db.$client : undefined;
  if (!isEmitter(pool)) return () => {};
  const { reports, unlisten } = watched.get(pool) ?? listen(pool);
  reports.add(report);
  return () => {
    reports.delete(report);
    if (reports.size > 0) return;
    watched.delete(pool);
    unlisten();
  };
}

function listen(pool: Emitter) {
  const reports = new Set<Report>();
  const clients = new Set<Emitter>();
  const onError = (error: unknown): void => {
    for (const report of reports) report(error);
  };
  const onAcquire = (client: unknown): void => {
    if (!isEmitter(client) || clients.has(client)) return;
    clients.add(client);
    client.on('error', onError);
  };
  const onRemove = (client: unknown): void => {
    // The listener stays on: a removed client may still emit an error while its socket closes.
    if (isEmitter(client)) clients.delete(client);
  };
  pool.on('error', onError);
  pool.on('acquire', onAcquire);
  pool.on('remove', onRemove);
  const watch = {
    reports,
    unlisten() {
      pool.off('error', onError);
      pool.off('acquire', onAcquire);
      pool.off('remove', onRemove);
      for (const client of clients) client.off('error', onError);
    },
  };
  watched.set(pool, watch);
  return watch;
}

function isEmitter(value: unknown): value is Emitter {
  if (typeof value !== 'object' || value === null) return false;
  return 'on' in value && typeof value.on === 'function' && 'off' in value && typeof value.off === 'function';
}
