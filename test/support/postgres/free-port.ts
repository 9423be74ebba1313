/**
 * A TCP port for a server that must come back on the same one after a restart.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below every system's range for outgoing connections. A port from that range may be given to some client
 * while the server is down, and a client that keeps trying to reach it may even connect to itself.
 */
const LOWEST = 20_000;
const HIGHEST = 32_000;

/** Another process may still take the port first: the caller tries again with another one. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await isFree(port)) return port;
  }
  throw new Error(`Found no free port on 127.0.0.1 between ${LOWEST} and ${HIGHEST}.`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
