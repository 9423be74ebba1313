/** Claims whose answer was lost: rows are running under their names, and no run knows of them. */
import type { TableName } from '../database/table-name.js';
import { releaseClaims } from '../sql/release-claims.js';
import type { Statements } from './statements.js';

/** So many are remembered; the rescuer finds the jobs of older ones. */
const mostOrphans = 100;

export interface Orphans {
  add(lockedBy: string): void;
  /** Gives back what they may have claimed; heartbeats do not keep it alive, but this is sooner than a rescue. */
  release(): Promise<void>;
}

export function createOrphans(statements: Statements, table: TableName): Orphans {
  let orphans: string[] = [];
  return {
    add(lockedBy) {
      orphans = [...orphans, lockedBy].slice(-mostOrphans);
    },
    async release() {
      if (orphans.length === 0) return;
      const these = orphans;
      await statements.send((db) => releaseClaims(db, table, these));
      orphans = orphans.filter((orphan) => !these.includes(orphan));
    },
  };
}
