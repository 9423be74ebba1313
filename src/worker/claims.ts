/**
 * One look for jobs, as one claim where all goes well. Where a row is at fault, the claim is made in parts, down to the
 * row that Postgres refuses, which is then left alone for a while: one bad row may fail itself, never its queue.
 */
import { isRowFault } from '../database/sqlstate.js';
import type { TableName } from '../database/table-name.js';
import { type Claimed, type ClaimedJob, type ClaimRequest, claim, findNext } from '../sql/claim.js';
import type { Level, Served, Wanted } from '../sql/claim-next.js';
import { claimTold } from '../sql/claim-told.js';
import { errorBrief } from '../words/error-text.js';
import { QueueError } from '../words/errors.js';
import type { Events } from './events.js';
import { createRefused, refusedForMs } from './refused.js';
import type { Statements } from './statements.js';

interface ClaimsOptions {
  readonly table: TableName;
  /** `<worker>`: claims are `<worker>/<n>`. */
  readonly worker: string;
  /** The kinds to claim now, each with the newest version of its payloads. */
  served(): Served;
  /** Hears of a claim whose answer was lost: it may have been committed all the same. */
  orphaned(lockedBy: string): void;
}

/** What a look brought, and where it ended. */
export type Taken = Pick<Claimed, 'jobs' | 'ended' | 'dueUs' | 'nowUs' | 'tookMs'>;

export interface Claims {
  /** Claims up to so many jobs of each queue, beginning where the levels say; `due` asks when the next ones fall due. */
  take(
    want: ReadonlyMap<string, number>,
    levels: ReadonlyMap<string, readonly Level[]>,
    due: boolean,
  ): Promise<Taken>;
  /** Claims this one job of the queue: `gone` where it was not to be had, `refused` where a look has to tell why not. */
  takeTold(queue: string, id: number): Promise<ClaimedJob | 'gone' | 'refused'>;
}

export function createClaims(
  statements: Statements,
  events: Events,
  { table, worker, served, orphaned }: ClaimsOptions,
): Claims {
  const refused = createRefused();
  let claims = 0;
  /** Refused in this look. */
  let told: number[] = [];
  let reason: unknown;

  async function claimOnce(request: Omit<ClaimRequest, 'lockedBy'>): Promise<Taken> {
    const lockedBy = `${worker}/${++claims}`;
    try {
      const claimed = await statements.send((db) => claim(db, table, { ...request, lockedBy }), {
        late: () => orphaned(lockedBy),
      });
      refuse(claimed.refused);
      statements.tableHas(claimed.tableBytes);
      return claimed;
    } catch (error) {
      if (!isRowFault(error)) orphaned(lockedBy); // Postgres rolled back what it refused
      throw error;
    }
  }

  /** Claims these in parts and adds what it gets to `jobs`. */
  async function claimAmong(request: Wanted, among: readonly number[], jobs: ClaimedJob[]): Promise<void> {
    try {
      const claimed = await claimOnce({ ...request, among });
      jobs.push(...claimed.jobs);
    } catch (error) {
      const [only] = among;
      if (!isRowFault(error) || only === undefined) throw error;
      if (among.length === 1) return refuse([only], error);
      const middle = Math.ceil(among.length / 2);
      await claimAmong(request, among.slice(0, middle), jobs);
      await claimAmong(request, among.slice(middle), jobs);
    }
  }

  async function claimInParts(request: Wanted, fault: unknown): Promise<Taken> {
    const next = await statements.send((db) => findNext(db, table, request));
    if (next.length === 0) throw fault; // somebody else was faster
    const jobs: ClaimedJob[] = [];
    try {
      await claimAmong(request, next, jobs);
    } catch (error) {
      if (jobs.length === 0) throw error; // what was claimed is run; the next look tells of an error that lasts
    }
    return { jobs, ended: [], dueUs: new Map(), nowUs: 0, tookMs: 0 };
  }

  /** Leaves them alone for a while, and says so once: where all jobs are refused, that is a line a look and not a job. */
  function refuse(ids: readonly number[], cause?: unknown): void {
    for (const id of ids) refused.add(id);
    told.push(...ids);
    reason ??= cause;
  }

  function tell(): void {
    if (told.length === 0) return;
    const [first, ...others] = told;
    const which = others.length === 0 ? `job ${first}` : `${told.length} jobs, ${first} among them,`;
    const why =
      reason === undefined ? 'and gave no reason: a trigger returned null' : `(${errorBrief(reason)})`;
    const error = new QueueError('CHANGE_REFUSED', `Postgres did not let ${which} become running ${why}.`, {
      data: { ids: told, command: 'update' },
      cause: reason,
    });
    [told, reason] = [[], undefined];
    events.emit('error', { error, during: 'claim', retryInMs: refusedForMs });
  }

  return {
    async takeTold(queue, id) {
      if (refused.ids().includes(id)) return 'gone';
      const lockedBy = `${worker}/${++claims}`;
      try {
        const request = { id, queue, ...served(), lockedBy };
        const job = await statements.send((db) => claimTold(db, table, request), {
          late: () => orphaned(lockedBy),
        });
        return job ?? 'gone';
      } catch (error) {
        if (isRowFault(error)) return 'refused';
        orphaned(lockedBy);
        throw error;
      }
    },
    async take(want, levels, due) {
      const request = { want, ...served(), except: refused.ids() };
      try {
        return await claimOnce({ ...request, levels, due });
      } catch (error) {
        if (!isRowFault(error)) throw error;
        return await claimInParts(request, error);
      } finally {
        tell();
      }
    },
  };
}
