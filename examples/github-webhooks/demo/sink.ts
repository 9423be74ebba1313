/**
 * The other side: an HTTP service that events are delivered to. It is down now and then (503), does not take
 * one kind of event (422), and writes down what it answered.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { close, listen } from './http.js';

export interface Received {
  /** The idempotency key: the job's id. */
  readonly job: number;
  readonly deliveryId: string;
  /** The worker, by its user agent. */
  readonly by: string;
  readonly status: 200 | 422 | 503;
}

/** A delivery that is accepted, but not answered until `release`. */
export interface Held {
  readonly received: Received;
  release(): void;
}

export interface Sink {
  readonly url: string;
  /** Everything that came, in order. */
  readonly received: readonly Received[];
  /** Holds the answer of the next delivery that is accepted. */
  hold(): Promise<Held>;
  close(): Promise<void>;
}

/** @param refused the name of the event that is answered with 422 */
export async function startSink(refused: string): Promise<Sink> {
  const received: Received[] = [];
  let firsts = 0;
  let holder: ((held: Held) => void) | undefined;

  const server = createServer((request, response) => {
    // Read to the end, whatever it is; a worker killed while it sends gets there never.
    request.resume().on('end', () => {
      const delivery = receive(request);
      const answer = () => void response.writeHead(delivery.status).end(sentences[delivery.status]);
      if (delivery.status !== 200 || !holder) return answer();
      holder({ received: delivery, release: answer });
      holder = undefined;
    });
  });

  function receive({ headers }: IncomingMessage): Received {
    const job = Number(headers['idempotency-key']);
    const delivery: Received = {
      job,
      deliveryId: String(headers['x-github-delivery']),
      by: String(headers['user-agent']),
      status: headers['x-github-event'] === refused ? 422 : isDown(job) ? 503 : 200,
    };
    received.push(delivery);
    return delivery;
  }

  /** For one in ten of the jobs, when it comes for the first time. */
  function isDown(job: number): boolean {
    return !received.some((earlier) => earlier.job === job) && ++firsts % 10 === 0;
  }

  const url = await listen(server);
  return {
    url,
    received,
    hold: () =>
      new Promise((resolve) => {
        holder = resolve;
      }),
    close: () => close(server),
  };
}

const sentences = {
  200: 'Thank you.',
  422: 'No events of this kind are taken here.',
  503: 'Down for a moment.',
} as const;
