/** Names of queues, kinds and claims arrive unchanged, alone and in the arrays that each driver encodes in its own way. */
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { claim } from '../../src/sql/claim.js';
import { heartbeat } from '../../src/sql/heartbeat.js';
import { releaseClaims } from '../../src/sql/release-claims.js';
import { finish } from '../support/finish.js';
import { byClaim, oddQueue, oddTexts, table } from './app.js';
import type { UsedDriver } from './stage.js';

export function oddTextTests(used: UsedDriver): void {
  /** One running job for each text, which is its queue, its kind and its claim. */
  async function running(): Promise<{ id: number; lockedBy: string }[]> {
    await oddQueue.enqueueMany(
      used.db,
      oddTexts.map((kind) => ({ kind })),
    );
    await used.read(sql`
      update jobs set state = 'running', locked_by = kind, started_at = now(), heartbeat_at = now(), attempts = 1`);
    return oddTexts.map((lockedBy, n) => ({ id: n + 1, lockedBy }));
  }

  it('are stored by both ways of enqueuing', async () => {
    for (const kind of oddTexts) await oddQueue.enqueue(used.db, kind);
    await oddQueue.enqueueMany(
      used.db,
      oddTexts.map((kind) => ({ kind })),
    );
    const expected = oddTexts.map((text) => ({ queue: text, kind: text }));
    expect(await used.read(sql`select queue, kind from jobs order by id`)).toEqual([
      ...expected,
      ...expected,
    ]);
  });

  it('are claimed by queue and kind', async () => {
    await oddQueue.enqueueMany(
      used.db,
      oddTexts.map((kind) => ({ kind })),
    );
    const want = new Map([...oddTexts.toReversed(), ''].map((text) => [text, 1]));
    const { jobs: claimed } = await claim(used.db, table, {
      want,
      kinds: ['', ...oddTexts],
      lockedBy: '{"odd", \\}',
    });
    expect(claimed.map(({ queue, kind, lockedBy }) => [queue, kind, lockedBy])).toEqual(
      oddTexts.toReversed().map((text) => [text, text, '{"odd", \\}']),
    );
    expect(await used.read(sql`select distinct locked_by from jobs`)).toEqual([{ locked_by: '{"odd", \\}' }]);
  });

  it('are told apart by heartbeats', async () => {
    const claims = await running();
    const shifted = claims.map(({ id }, n) => ({ id, lockedBy: oddTexts[(n + 1) % oddTexts.length] ?? '' }));
    const answer = await heartbeat(used.db, table, [...claims, ...shifted, { id: 1, lockedBy: '' }]);
    expect(answer.sort(byClaim)).toEqual(
      [
        ...claims.map((claim) => ({ ...claim, pulse: 'ours' })),
        ...[...shifted, { id: 1, lockedBy: '' }].map((claim) => ({ ...claim, pulse: 'lost' })),
      ].sort(byClaim),
    );
  });

  it('are told apart by finishes, and kept in errors', async () => {
    const claims = await running();
    const finishes = claims.map((claim) => ({
      ...claim,
      outcome: { move: 'discard', error: claim.lockedBy } as const,
    }));
    const answer = await finish(used.db, table, [
      ...finishes,
      { id: 1, lockedBy: '', outcome: { move: 'complete' } },
    ]);
    expect(answer.map(({ id, lockedBy, result }) => ({ id, lockedBy, result })).sort(byClaim)).toEqual(
      [
        ...claims.map((claim) => ({ ...claim, result: 'done' })),
        { id: 1, lockedBy: '', result: 'lost' },
      ].sort(byClaim),
    );
    expect(
      await used.read(sql`select last_error, errors->0->>'error' as error from jobs order by id`),
    ).toEqual(oddTexts.map((text) => ({ last_error: text, error: text })));
  });

  it('are told apart by the release of lost claims', async () => {
    const claims = await running();
    const [first = '', second = '', ...others] = oddTexts;
    expect(await releaseClaims(used.db, table, ['', 'nobody'])).toEqual([]);
    expect((await releaseClaims(used.db, table, [second, '', first])).sort()).toEqual([1, 2]);
    expect(await releaseClaims(used.db, table, others)).toHaveLength(claims.length - 2);
  });
}
