/**
 * Claims of jobs that were named, each by its id and beside the loop: such a job does not wait for the answer of a look, or of
 * another claim, that is under way.
 */
import type { ClaimedJob } from '../sql/claim.js';
import type { Claims } from './claims.js';

/** So many at once. One look finds all of those that come together with more. */
const mostAtOnce = 2;

export interface NamedClaims {
  /** Begins to claim the job; false where too many such claims are under way. */
  claim(queue: string, id: number): boolean;
  /** Resolves when all are answered. */
  answered(): Promise<void>;
}

interface NamedClaimsOptions {
  readonly take: Claims['takeTold'];
  /** Keeps a slot of the queue, until what it gives is called. */
  hold(queue: string): () => void;
  found(job: ClaimedJob, tookMs: number): void;
  missed(queue: string, why: 'gone' | 'refused'): void;
  failed(queue: string, error: unknown): void;
}

export function createNamedClaims({ take, hold, found, missed, failed }: NamedClaimsOptions): NamedClaims {
  const underWay = new Set<Promise<void>>();

  async function claim(queue: string, id: number): Promise<void> {
    const release = hold(queue);
    const began = performance.now();
    let job: Awaited<ReturnType<typeof take>>;
    try {
      job = await take(queue, id);
    } finally {
      release(); // in the same turn in which what was found takes its slot
    }
    if (typeof job === 'string') missed(queue, job);
    else found(job, performance.now() - began);
  }

  return {
    claim(queue, id) {
      if (underWay.size >= mostAtOnce) return false;
      const claiming = claim(queue, id)
        .catch((error: unknown) => failed(queue, error))
        .finally(() => underWay.delete(claiming));
      underWay.add(claiming);
      return true;
    },
    async answered() {
      await Promise.all(underWay);
    },
  };
}
