/**
 * The server that `DATABASE_URL` names: somebody else's, so it is neither started, stopped nor restarted.
 */
import { serverVersion } from './admin.js';
import type { Postgres } from './postgres.js';

/** @throws Error when the server does not answer: a wrong DATABASE_URL must not end in another database. */
export async function useDatabaseUrl(url: string): Promise<Postgres> {
  const version = await serverVersion(url).catch((error: Error) => {
    throw new Error(`DATABASE_URL is set, but its server does not answer: ${error.message || error}`, {
      cause: error,
    });
  });
  return {
    url,
    source: 'DATABASE_URL',
    version,
    stop: async () => {},
    restart: async () => {
      throw new Error(
        'The server of DATABASE_URL cannot be restarted from here: use startEmbedded() in this test.',
      );
    },
  };
}
