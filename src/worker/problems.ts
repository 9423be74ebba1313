/** What a worker finds wrong with its connections, told as its `problem` events. */
import type { SchemaProblem } from '../check/problem.js';

/** It works, and finds jobs by looking only. */
export function notListening(why: string): SchemaProblem {
  return {
    code: 'NOT_LISTENING',
    severity: 'warning',
    object: 'connection',
    message:
      `This worker is not told of new jobs and finds them by looking, at most pollIntervalMs apart. ${why}. ` +
      'Give createWorker a `directDb` whose connections go straight to Postgres.',
    run: [],
  };
}

/** It works, as if `directDb` had not been given. */
export function differentDatabase(): SchemaProblem {
  return {
    code: 'DIRECT_DB_DIFFERS',
    severity: 'error',
    object: 'directDb',
    message:
      '`directDb` is connected to another database than `db`, so it is not used. Give it the same database, without the pooler.',
    run: [],
  };
}
