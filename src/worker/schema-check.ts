/** What a worker does once, as soon as the database answers: compares it with what this version needs. */
import { schemaProblems } from '../check/check-schema.js';
import { isPassing } from '../database/sqlstate.js';
import type { QueueTables } from '../database/tables.js';
import { createAlarm } from './alarm.js';
import type { Events } from './events.js';
import { createRetryGap } from './gap.js';
import type { Statements } from './statements.js';

export interface SchemaCheck {
  /** Emits each problem; resolves when that is done, or after a stop. */
  run(): Promise<void>;
  stop(): void;
}

export function createSchemaCheck(statements: Statements, tables: QueueTables, events: Events): SchemaCheck {
  const alarm = createAlarm();
  const retryGap = createRetryGap();
  let stopped = false;

  /** Whether that was all: a database that is away is told of by the claims, and asked again. */
  async function look(): Promise<boolean> {
    try {
      const problems = await statements.send((db) => schemaProblems(db, tables, 'worker'));
      if (!stopped) for (const problem of problems) events.emit('problem', problem);
      return true;
    } catch (error) {
      if (stopped || isPassing(error)) return stopped;
      events.emit('error', { error, during: 'check', retryInMs: null });
      return true;
    }
  }

  return {
    async run() {
      while (!(await look())) await alarm.sleep(retryGap.next());
    },
    stop() {
      stopped = true;
      alarm.wake();
    },
  };
}
