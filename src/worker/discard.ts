/** The error that says "do not try again", for code that has no `job` at hand. */

/**
 * Throw it anywhere below a handler: the job is discarded instead of retried, with this message as its last error.
 * The usual reasons are answers that no later attempt will change: an address that does not exist, a 422.
 */
export class Discard extends Error {
  constructor(reason: string, options?: { readonly cause?: unknown }) {
    super(reason, options);
    this.name = 'Discard';
    delete this.stack; // a decision, not a fault: the job's last error is the reason alone
  }
}

/** Whether this was thrown to discard the job. Never throws, as `instanceof` does for a revoked Proxy. */
export function isDiscard(thrown: unknown): thrown is Discard {
  try {
    return thrown instanceof Discard;
  } catch {
    return false;
  }
}
