/**
 * Keeps a killed backend from ending the process, or the pool. node-postgres emits `error` on its pool (for an idle client)
 * or on the client (for one that is checked out), and Node throws where nobody listens. Drizzle 0.45 never gives back a
 * client that breaks in a transaction's `begin`. For postgres.js there is `lost-transactions.ts`.
 */
import { clientOf } from './client.js';
import type { Executor } from './executor.js';

interface Emitter {
  on(event: string, listener: (...args: never[]) => void): unknown;
  off(event: string, listener: (...args: never[]) => void): unknown;
}

type Report = (error: unknown) => void;

/** How long whoever has a client may take to give it back once it is broken. */
const giveBackMs = 1_000;

/** Pools that are listened to: one set of listeners each, however many workers share it. */
const watched = new WeakMap<Emitter, { readonly reports: Set<Report>; unlisten(): void }>();

/**
 * Passes such errors of the database's node-postgres pool to `report` until the returned function is called. Each
 * client gets one listener for its life, so that many checkouts do not add up.
 */
export function watchPool(db: Executor, report: Report): () => void {
  const pool = clientOf(db);
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
  const clients = new Map<Emitter, Report>();
  const onError = (error: unknown): void => {
    for (const report of reports) report(error);
  };
  const onAcquire = (client: unknown): void => {
    if (!isEmitter(client) || clients.has(client)) return;
    const onClientError = (error: unknown): void => {
      onError(error);
      setTimeout(giveBack, giveBackMs, client, error).unref();
    };
    clients.set(client, onClientError);
    client.on('error', onClientError);
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
      for (const [client, onClientError] of clients) client.off('error', onClientError);
    },
  };
  watched.set(pool, watch);
  return watch;
}

/** Frees the place of a broken client in its pool, and lets who has it give it back later without an error. */
function giveBack(client: Emitter & { release?: unknown }, error: unknown): void {
  const { release } = client;
  if (typeof release !== 'function') return;
  client.release = () => {};
  try {
    release(error);
  } catch {
    // It was given back.
  }
}

function isEmitter(value: unknown): value is Emitter {
  if (typeof value !== 'object' || value === null) return false;
  return 'on' in value && typeof value.on === 'function' && 'off' in value && typeof value.off === 'function';
}
