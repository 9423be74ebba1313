/**
 * What the set-up hands to the test files, through vitest's `inject`.
 */
import 'vitest';

/** The server of this run and the name that all its databases carry. */
export type ProvidedPostgres = { url: string; run: string; version: string; source: string };

/** Which Drizzle a vitest project tests with: the root's 0.45 or the 1.0 of test/v1. */
export type Generation = 'v0' | 'v1';

declare module 'vitest' {
  interface ProvidedContext {
    postgres: ProvidedPostgres;
    generation: Generation;
  }
}
