/**
 * Where the current transactions are kept, one for each database: known here so that a worker, which is to be in none of
 * them, need not know whose they are. Storages of the app's own are left alone.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

const storages: AsyncLocalStorage<unknown>[] = [];

export function transactionStorage<Scope>(): AsyncLocalStorage<Scope | undefined> {
  const storage = new AsyncLocalStorage<Scope | undefined>();
  storages.push(storage as AsyncLocalStorage<unknown>);
  return storage;
}

/** Runs something, and all that comes of it, in no current transaction of any database. */
export function outsideTransactions<Answer>(work: () => Answer): Answer {
  return storages.reduceRight((inner, storage) => () => storage.run(undefined, inner), work)();
}
