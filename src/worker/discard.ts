/** The error that says "do not try again", for code that has no `job` at hand. */

/**
 * Throw it anywhere below a handler: the job is discarded instead of retried, with this message as its last error.
 * The usual reasons are answers that no later attempt will change: an address that does not exist, a 422.
 */
export class Discard extends Error {
  constructor(reason: string, options?: { readonly cause?: unknown }) {
    super(reason, options);
    this.name = 'Discard';
  }
}
