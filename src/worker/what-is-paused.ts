/** What the rows of the table mean for those who serve some kinds. */
import type { Served } from '../sql/claim-next.js';
import type { StoredPause } from '../words/pauses.js';
import type { Settings } from './options.js';

export interface WhatIsPaused {
  readonly queues: ReadonlySet<string>;
  /** Of those served, as the registry has them. */
  readonly kinds: ReadonlySet<string>;
  /** What is left to claim. */
  readonly served: Served;
}

/** One name of a kind is enough: all that rows of it may be called is paused. */
export function whatIsPaused(kinds: Settings['kinds'], pauses: readonly StoredPause[]): WhatIsPaused {
  const named = (scope: StoredPause['scope']) =>
    pauses.filter((pause) => pause.scope === scope).map(({ name }) => name);
  const paused = new Set(named('kind').flatMap((name) => kinds.get(name)?.name ?? []));
  const left = [...kinds].filter(([, { name }]) => !paused.has(name));
  return {
    queues: new Set(named('queue')),
    kinds: paused,
    served: {
      kinds: left.map(([name]) => name),
      versions: left.map(([, { version }]) => version),
    },
  };
}
