/** What can be paused, and how it reads where it is written down. */

/** A queue, or the jobs of a kind whatever their queue. */
export type PauseScope = 'queue' | 'kind';

/** One row of what is paused. */
export interface StoredPause {
  readonly scope: PauseScope;
  /** Of the queue; or what rows of the kind may be called. */
  readonly name: string;
  readonly pausedAt: Date;
}
