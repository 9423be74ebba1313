/**
 * The named types that a row of the jobs table is made of. They name no Drizzle type, so one declaration serves
 * both of Drizzle's generations, and a consumer's own declarations can name them.
 */

/** One failed attempt, as kept in `errors`. */
export interface JobError {
  readonly attempt: number;
  /** When it failed: ISO text, UTC. */
  readonly at: string;
  readonly error: string;
}

/** A result as the table holds it: null until the job has completed, and where its kind has none. */
export type StoredResult<Result> = [Result] extends [void]
  ? unknown extends Result
    ? Result // any: of a registry that is not known
    : null
  : Exclude<Result, undefined> | null;

/** The part of a registry that types rows: its kinds, each with its payload and aliases. By itself: rows of any kind. */
export interface RowTypes {
  readonly kinds: {
    readonly [kind: string]: { readonly $payload: unknown; readonly $aliases?: readonly string[] };
  };
}

/** A payload as the table holds it: a kind without one stores `{}`. */
export type StoredPayload<Payload> = [Payload] extends [void]
  ? unknown extends Payload
    ? Payload // any: of a registry that is not known
    : Record<string, never>
  : Payload;
