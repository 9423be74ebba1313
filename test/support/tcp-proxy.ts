/**
 * A TCP proxy in front of Postgres that loses what is sent, delays it, stops forwarding, or breaks its connections: the
 * network faults that a server of our own cannot show.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export type TcpProxy = {
  /** The connection string given, through the proxy. */
  readonly url: string;
  /** Nothing arrives any more, in either direction; connections stay open. */
  blackHole(): void;
  /** What clients send arrives, what the server answers does not. */
  loseAnswers(): void;
  /** What clients send does not arrive, what the server still answers does. */
  loseRequests(): void;
  /** What clients send waits on its way, as in a network that sends it again and again; nothing is lost. */
  hold(): void;
  /** What the server answers waits as well. */
  holdAll(): void;
  /** Lets everything that waits arrive. */
  release(): void;
  /** From now on everything arrives so many ms later. */
  delay(ms: number): void;
  /** Breaks every connection and refuses new ones. */
  cut(): void;
  /** Breaks about this share of the connections that are open. */
  cutSome(share: number): void;
  /** About this share of the connections that are open forward nothing any more, and nobody ever closes them. */
  silenceSome(share: number): void;
  /** Breaks every connection, of which bytes may be lost, and forwards those to come. */
  mend(): void;
  end(): Promise<void>;
};

interface Connection {
  readonly client: Socket;
  readonly upstream: Socket;
  silent: boolean;
}

export async function startTcpProxy(url: string): Promise<TcpProxy> {
  const target = new URL(url);
  const connections = new Set<Connection>();
  let [toServer, toClient, refuse, delayMs] = [true, true, false, 0];
  let [holdingToServer, holdingToClient] = [false, false];
  let waiting: { bytes: Buffer; socket: Socket }[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const connection = { client, upstream, silent: false };
    connections.add(connection);
    for (const socket of [client, upstream]) {
      socket.on('error', () => {}); // closes, as every other end does
      socket.on('close', () => {
        connections.delete(connection);
        client.destroy();
        upstream.destroy();
      });
    }
    if (refuse) client.destroy();
    const [sendUp, sendDown] = [inOrder(upstream), inOrder(client)];
    client.on('data', (bytes) => {
      if (holdingToServer) waiting.push({ bytes, socket: upstream });
      else if (toServer && !connection.silent) sendUp(bytes);
    });
    upstream.on('data', (bytes) => {
      if (holdingToClient) waiting.push({ bytes, socket: client });
      else if (toClient && !connection.silent) sendDown(bytes);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);

  /** Writes now or after the delay, and never before what was sent earlier. */
  function inOrder(socket: Socket): (bytes: Buffer) => void {
    let late = 0;
    let sent = Promise.resolve();
    return (bytes) => {
      if (delayMs === 0 && late === 0) return void socket.write(bytes);
      late++;
      sent = Promise.all([sent, delay(delayMs)]).then(() => {
        late--;
        socket.write(bytes);
      });
    };
  }
  function forward(server: boolean, client: boolean): void {
    [toServer, toClient] = [server, client];
  }
  function breakAll(refuseOthers: boolean): void {
    refuse = refuseOthers;
    for (const { client } of connections) client.destroy();
  }
  const some = (share: number) => [...connections].filter(() => Math.random() < share);
  return {
    url: through.href,
    blackHole: () => forward(false, false),
    loseAnswers: () => forward(true, false),
    loseRequests: () => forward(false, true),
    hold() {
      holdingToServer = true;
    },
    holdAll() {
      [holdingToServer, holdingToClient] = [true, true];
    },
    release() {
      [holdingToServer, holdingToClient] = [false, false];
      for (const { bytes, socket } of waiting) socket.write(bytes);
      waiting = [];
    },
    delay(ms) {
      delayMs = ms;
    },
    cut: () => breakAll(true),
    cutSome(share) {
      for (const { client } of some(share)) client.destroy();
    },
    silenceSome(share) {
      for (const connection of some(share)) connection.silent = true;
    },
    mend() {
      breakAll(false);
      forward(true, true);
      delayMs = 0;
      [holdingToServer, holdingToClient, waiting] = [false, false, []];
    },
    async end() {
      breakAll(true);
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
