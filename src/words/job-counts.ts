/** How many jobs there are, as it is read. */

/** How many jobs of one kind are in one queue. The first three are `available`. */
export interface JobCounts<Kind extends string = string> {
  readonly queue: string;
  readonly kind: Kind;
  /** They could run now. */
  readonly due: number;
  /** They wait for their time, and have not been tried. */
  readonly scheduled: number;
  /** They wait for another attempt. */
  readonly retrying: number;
  readonly running: number;
  readonly completed: number;
  readonly discarded: number;
  readonly cancelled: number;
  /** Since when the first of those that are due has been so; null where none is. */
  readonly oldestDueAt: Date | null;
}
