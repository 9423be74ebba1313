/**
 * Any sequence of moves by two workers, an app and a person, late and repeated ones among them, does and answers what a
 * model of the state machine says.
 */
import fc from 'fast-check';
import { beforeAll, it } from 'vitest';
import { useDatabase } from '../support/database.js';
import { untilServerHasRunFor } from '../support/jobs.js';
import { Crowd } from './crowd.js';
import { createOpenTransaction } from './open-transaction.js';
import * as other from './other-moves.js';
import * as person from './person-moves.js';
import { forgetAll } from './stopped-time.js';
import * as worker from './worker-moves.js';

const database = useDatabase();

beforeAll(() => untilServerHasRunFor(database.sql, 1.5));

/** Those that lead on more often than those after which there is less to do. */
const moves = [
  ...[worker.enqueueOne, worker.enqueueList, worker.releaseByName],
  ...[worker.claimSome, worker.claimSome, worker.claimSome],
  ...[worker.finishSome, worker.finishSome, worker.finishSome],
  ...[worker.beat, worker.beat, worker.lookForDead, worker.rescueDead, worker.rescueDead],
  ...[other.completeInOpen, other.completeInOpen, other.lockInOpen, other.endOpen, other.endOpen],
  ...[other.silence, other.silence, other.timePasses, other.timePasses],
  ...[other.deleteByHand, other.cancelByHand, other.replayByHand],
  ...[person.cancelSome, person.replaySome, person.runNowSome, person.putOffSome, person.removeSome],
];

it('every move does what the model says', { timeout: 90_000 }, async () => {
  const open = createOpenTransaction(database.db);
  await fc.assert(
    fc
      .asyncProperty(fc.commands(moves, { maxCommands: 120, size: 'max' }), async (commands) => {
        await fc.asyncModelRun(() => ({ model: new Crowd(), real: { db: database.db, open } }), commands);
      })
      .beforeEach(() => forgetAll(database.db))
      .afterEach(() => open.end('rollback')),
    { numRuns: 60, interruptAfterTimeLimit: 60_000 },
  );
});
