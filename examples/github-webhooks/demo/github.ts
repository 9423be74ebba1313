/** GitHub's part: sends signed webhooks, a few at a time, and keeps what it was answered. */
import { setTimeout as delay } from 'node:timers/promises';
import { sign } from '../signature.js';
import type { Delivery } from './payloads.js';

/** At once, and the pause of each before its next: about 70 events a second, so that there is something to watch. */
const senders = 4;
const pauseMs = 50;

export interface GitHub {
  /** Sends these and resolves when each was answered. @throws Error for any answer but 202 and 500 */
  send(deliveries: readonly Delivery[]): Promise<void>;
  /** Ids of what was answered with 202: the receiver promises that these events are stored. */
  readonly accepted: ReadonlySet<string>;
  /** Ids of what was answered with 500: nothing of these may be left. */
  readonly failed: ReadonlySet<string>;
}

/** What the predicate holds for is sent twice, as GitHub does when it saw no answer. */
export function createGitHub(url: string, secret: string, sentTwice: (id: string) => boolean): GitHub {
  const [accepted, failed] = [new Set<string>(), new Set<string>()];

  async function post({ id, event, payload }: Delivery): Promise<void> {
    const body = Buffer.from(JSON.stringify(payload));
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-github-event': event,
        'x-github-delivery': id,
        'x-hub-signature-256': sign(body, secret),
      },
      body,
    });
    await response.text();
    if (response.status === 202) accepted.add(id);
    else if (response.status === 500) failed.add(id);
    else throw new Error(`The receiver answered ${response.status} to ${event} ${id}.`);
  }

  async function send(deliveries: readonly Delivery[]): Promise<void> {
    const waiting = [...deliveries];
    async function sender(): Promise<void> {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        await post(next);
        if (sentTwice(next.id)) await post(next);
        await delay(pauseMs);
      }
    }
    await Promise.all(Array.from({ length: senders }, sender));
  }

  return { send, accepted, failed };
}
