/**
 * A TCP proxy in front of Postgres that loses answers, stops forwarding, or breaks its connections: the network
 * faults that a server of our own cannot show.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type TcpProxy = {
  /** The connection string given, through the proxy. */
  readonly url: string;
  /** Nothing arrives any more, in either direction; connections stay open. */
  blackHole(): void;
  /** What clients send arrives, what the server answers does not. */
  loseAnswers(): void;
  /** What clients send waits on its way, as in a network that sends it again and again; nothing is lost. */
  hold(): void;
  /** Lets everything that waits arrive. */
  release(): void;
  /** Breaks every connection and refuses new ones. */
  cut(): void;
  /** Breaks every connection, of which bytes may be lost, and forwards those to come. */
  mend(): void;
  end(): Promise<void>;
};

export async function startTcpProxy(url: string): Promise<TcpProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let [toServer, toClient, refuse, holding] = [true, true, false, false];
  let waiting: { bytes: Buffer; socket: Socket }[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}); // closes, as every other end does
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    if (refuse) client.destroy();
    client.on('data', (bytes) => {
      if (holding) waiting.push({ bytes, socket: upstream });
      else if (toServer) upstream.write(bytes);
    });
    upstream.on('data', (bytes) => toClient && client.write(bytes));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);

  function forward(server: boolean, client: boolean): void {
    [toServer, toClient] = [server, client];
  }
  function breakAll(refuseOthers: boolean): void {
    refuse = refuseOthers;
    for (const socket of sockets) socket.destroy();
  }
  return {
    url: through.href,
    blackHole: () => forward(false, false),
    loseAnswers: () => forward(true, false),
    hold() {
      holding = true;
    },
    release() {
      holding = false;
      for (const { bytes, socket } of waiting) socket.write(bytes);
      waiting = [];
    },
    cut: () => breakAll(true),
    mend() {
      breakAll(false);
      forward(true, true);
      [holding, waiting] = [false, []];
    },
    async end() {
      breakAll(true);
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
