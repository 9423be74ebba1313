/**
 * The states of a job and the moves between them, as data.
 *
 * One move is one statement in `sql/`; a test makes every move from every state against a real database.
 * A new move also needs: its statement, its line here, a word in DESIGN's list, and a row in that test.
 */

/** Every state a row of the jobs table can be in; the same list as the table's CHECK. */
export const states = ['available', 'running', 'completed', 'discarded', 'cancelled'] as const;

/**
 * - `available`: due at `run_at`, also when it waits for a retry
 * - `running`: claimed by the worker named in `locked_by`
 * - `completed`, `discarded`, `cancelled`: final; only a person's replay leads back
 */
export type State = (typeof states)[number];

/** Those that a job leaves only by a person's replay. */
export const finalStates = ['completed', 'discarded', 'cancelled'] as const satisfies readonly State[];
/** One of {@link finalStates}. */
export type FinalState = (typeof finalStates)[number];

/** Whether a text names a state. */
export function isState(text: string): text is State {
  return states.some((state) => state === text);
}

/** Where a move may lead: a state, or `gone` where the row is deleted. */
export type Destination = State | 'gone';

/** A move is refused (changes nothing) from every state that its `from` does not name. */
export interface Move {
  readonly from: readonly State[];
  readonly to: readonly Destination[];
}

export const moves = {
  /** A worker takes a due job; the attempt is counted here, so that a crash counts too. */
  claim: { from: ['available'], to: ['running'] },
  /** A sign of life from the worker that has the job. */
  heartbeat: { from: ['running'], to: ['running'] },
  /**
   * The handler resolved: the row goes, or stays with the result where its kind keeps it. A job that is to run once more waits
   * for that, here and where it would be discarded.
   */
  complete: { from: ['running'], to: ['gone', 'completed', 'available'] },
  /** The handler threw or ran out of time: again after a backoff, or discarded when attempts are used up. */
  fail: { from: ['running'], to: ['available', 'discarded'] },
  /** The handler says that another attempt is not worth it. */
  discard: { from: ['running'], to: ['discarded', 'available'] },
  /** The handler says "later"; the attempt is given back. */
  snooze: { from: ['running'], to: ['available'] },
  /** A worker that stops gives the job back; discarded only when it already had an attempt beyond its last. */
  release: { from: ['running'], to: ['available', 'discarded'] },
  /** The worker gave no sign of life: again after a backoff, or discarded when attempts are used up. */
  rescue: { from: ['running'], to: ['available', 'discarded'] },
  /** A person does not want the job any more. */
  cancel: { from: ['available', 'running'], to: ['cancelled'] },
  /** A person has it run again, from its first attempt. */
  replay: { from: finalStates, to: ['available'] },
  /** A person gives it another time, which may be now. */
  reschedule: { from: ['available'], to: ['available'] },
  /** A person gives it another payload. */
  update: { from: ['available'], to: ['available'] },
  /** A person deletes the row. */
  remove: { from: states, to: ['gone'] },
} as const satisfies Record<string, Move>;

export type MoveName = keyof typeof moves;
