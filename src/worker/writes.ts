/** Which statement writes which of the ends that are to be written together. */
import type { Executor } from '../database/executor.js';
import type { TableName } from '../database/table-name.js';
import { completeMany } from '../sql/complete-many.js';
import { finish } from '../sql/finish.js';
import type { Finished } from '../sql/finished.js';
import { type KeptClaim, keepMany } from '../sql/keep-many.js';
import type { ClaimedId, Outcome } from '../words/outcome.js';

/** Characters of results a statement; a JSON text of Postgres ends at 256 MB. */
const mostCharacters = 16_000_000;

export interface End extends ClaimedId {
  readonly outcome: Outcome;
  /** The job is to run once more, so its row is kept, to be available again. @default false */
  readonly again?: boolean | undefined;
}

/** Ends of a kind, and what writes them or some of them. */
export interface Write<One extends End> {
  readonly ends: readonly One[];
  /** One statement; answers in the order of the ends. */
  send(db: Executor, jobs: TableName, ends: readonly One[]): Promise<readonly Finished[]>;
}

/** One write for each way to end; several where there is much to keep. */
export function writesOf<One extends End>(batch: readonly One[]): Write<One>[] {
  const [deleted, kept, moved]: [One[], One[], One[]] = [[], [], []];
  for (const one of batch) {
    if (one.outcome.move !== 'complete' || one.again) moved.push(one);
    else if (one.outcome.kept) kept.push(one);
    else deleted.push(one);
  }
  return [
    { ends: deleted, send: completeMany },
    ...bounded(kept).map((ends) => ({ ends, send: keep })),
    { ends: moved, send: finish },
  ].filter(({ ends }) => ends.length > 0);
}

function keep(db: Executor, jobs: TableName, ends: readonly End[]): Promise<Finished[]> {
  return keepMany(db, jobs, ends.map(keptClaim));
}

function keptClaim({ id, lockedBy, outcome }: End): KeptClaim {
  return { id, lockedBy, result: outcome.move === 'complete' ? outcome.kept?.result : undefined };
}

/** Parts of the list, in order, none empty. */
function bounded<One extends End>(kept: readonly One[]): One[][] {
  const parts: One[][] = [];
  let characters = mostCharacters;
  for (const one of kept) {
    const size = keptClaim(one).result?.length ?? 0;
    characters += size;
    const last = parts.at(-1);
    if (last && characters <= mostCharacters) last.push(one);
    else {
      parts.push([one]);
      characters = size;
    }
  }
  return parts;
}
