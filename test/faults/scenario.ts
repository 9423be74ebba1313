/** A scenario as a test: something is done to workers or their database while they work, and then the books are audited. */
import { expect, it } from 'vitest';
import type { Audit } from './audit.js';
import type { Stage } from './stage.js';

/** A line of the table at the end of the run. */
export interface Line {
  readonly jobs: number;
  readonly faults: number;
  readonly lost: number;
  readonly doubleFinished: number;
  readonly overlaps: number;
  readonly againMs: number;
  readonly orphansMs: number;
}

declare module 'vitest' {
  interface TaskMeta {
    line?: Line;
  }
}

export interface ScenarioOptions {
  readonly timeoutMs?: number;
  /**
   * Two runs of a job may be at work at once, once it was rescued from a worker that still lives.
   * @default false
   */
  readonly overlaps?: boolean;
  /**
   * A job may run again after a run that came to its end, because its worker loses its lease before that is written.
   * @default false
   */
  readonly repeats?: boolean;
}

/** `act` gives how many faults it injected; the jobs are drained and audited after it. */
export function scenario(
  name: string,
  createStage: () => Promise<Stage>,
  act: (stage: Stage) => Promise<number>,
  { timeoutMs = 120_000, overlaps = false, repeats = false }: ScenarioOptions = {},
): void {
  it(name, { timeout: timeoutMs }, async ({ task }) => {
    const stage = await createStage();
    const faults = await act(stage);
    await stage.drained({ timeoutMs });
    const books = await stage.audit();
    const recovery = await stage.recovery();
    task.meta.line = {
      jobs: stage.committed(),
      faults,
      lost: books.lost,
      doubleFinished: books.doubleFinished,
      overlaps: books.overlaps,
      ...recovery,
    };
    const clean: Audit = {
      lost: 0,
      phantoms: 0,
      doubleFinished: 0,
      left: 0,
      notOnce: 0,
      discarded: 0,
      overlaps: overlaps ? books.overlaps : 0,
      unexplained: 0,
      stolen: 0,
      effects: 0,
      again: expect.any(Number),
      repeats: repeats ? books.repeats : 0,
    };
    expect(stage.fallen()).toEqual([]);
    expect(books).toEqual(clean);
  });
}
