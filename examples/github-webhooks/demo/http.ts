/** Servers on a free port of this machine alone. */
import { once } from 'node:events';
import type { Server } from 'node:http';

/** Gives the server's address: `http://127.0.0.1:<port>`. */
export async function listen(server: Server): Promise<string> {
  // Longer than any pause in the demo: a request on a connection that is just being closed would fail.
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('The server has no port.');
  return `http://127.0.0.1:${address.port}`;
}

/** Also ends connections that are kept alive. */
export async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
