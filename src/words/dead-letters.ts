/** What was discarded, as it is read. */

/** Discarded jobs of one kind with much the same error. */
export interface DeadLetterGroup<Kind extends string = string> {
  readonly kind: Kind;
  /**
   * The first line of the last attempt's error, 300 characters of it, with `#` in place of UUIDs, hexadecimal numbers and
   * numbers of four digits or more; null where no error was kept.
   */
  readonly error: string | null;
  readonly count: number;
  /** When the first of them was discarded. */
  readonly firstAt: Date;
  /** When the latest was. */
  readonly lastAt: Date;
  /** The latest ten of them. */
  readonly ids: readonly number[];
}
