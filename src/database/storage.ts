/** What the jobs table needs and drizzle-kit cannot express: storage parameters. */

/**
 * By name, as `alter table … set (…)` takes them and as `pg_class.reloptions` has them.
 *
 * fillfactor: room on each page, so that a heartbeat is a HOT update and touches no index.
 * autovacuum_vacuum_scale_factor: each job is several dead rows; the default waits until they are a fifth of the table.
 */
export const storageParameters: ReadonlyMap<string, string> = new Map([
  ['fillfactor', '70'],
  ['autovacuum_vacuum_scale_factor', '0.01'],
]);
