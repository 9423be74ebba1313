/** How an attempt ended, before it is written: the finishing moves with what each needs. */

export type Outcome =
  /** `kept` where the row stays, with the result as JSON text, if there is one. */
  | { readonly move: 'complete'; readonly kept?: Kept | undefined }
  /** `delayMs` undefined: the usual backoff. */
  | { readonly move: 'fail'; readonly error: unknown; readonly delayMs: number | undefined }
  | { readonly move: 'discard'; readonly error: unknown }
  | { readonly move: 'snooze'; readonly when: When }
  /** A job whose handler had not started gets its attempt back; one that ran keeps it counted. */
  | { readonly move: 'release'; readonly started: boolean };

/** What stays of a job whose kind keeps its row. */
export interface Kept {
  readonly result: string | undefined;
}

export type FinishMove = Outcome['move'];

/** A time to run: so long after the database reads it, or an instant as ISO text with a zone. */
export type When = { readonly delayMs: number } | { readonly runAt: string };

/** The fence: a run of a job is named by its id and the claim that has it, never by its attempt number. */
export interface ClaimedId {
  readonly id: number;
  readonly lockedBy: string;
}

/** The answers by claim, for a lookup with the claim. */
export function byClaim<Answer extends ClaimedId>(
  answers: readonly Answer[],
): (claim: ClaimedId) => Answer | undefined {
  const found = new Map(answers.map((answer) => [`${answer.id} ${answer.lockedBy}`, answer]));
  return ({ id, lockedBy }) => (found.size === 0 ? undefined : found.get(`${id} ${lockedBy}`));
}
