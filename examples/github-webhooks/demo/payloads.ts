/** Real payloads of GitHub's webhooks, from the npm package `@octokit/webhooks-examples`. */
import { createRequire } from 'node:module';
import type { GitHubPayload } from '../schema.js';

export interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly payload: GitHubPayload;
}

// Required, since Node 20 imports no JSON without a flag; the package's own types promise a `default` that is not there.
const definitions: readonly { name: string; examples: readonly GitHubPayload[] }[] = createRequire(
  import.meta.url,
)('@octokit/webhooks-examples');

const all = definitions.flatMap(({ name, examples }) =>
  examples.map((payload) => ({ event: name, payload })),
);

/** So many of the payloads, spread over all kinds of events, each with a delivery id that is the same in every run. */
export function deliveries(count = all.length): readonly Delivery[] {
  if (!(count >= 10 && count <= all.length))
    throw new Error(`Expected 10 to ${all.length} events, got ${count}.`);
  return all
    .filter((_, n) => Math.floor((n * count) / all.length) !== Math.floor(((n - 1) * count) / all.length))
    .map((delivery, n) => ({
      ...delivery,
      id: `00000000-0000-4000-8000-${String(n + 1).padStart(12, '0')}`,
    }));
}
