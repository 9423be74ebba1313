/** What each role of a queue needs to do with its tables: what the README's grants give. */

/** An app that only enqueues, a worker, a status page, and who reads and moves jobs (cancel, replay, …) by hand or by a tool. */
export type QueueRole = 'enqueuer' | 'worker' | 'reader' | 'operator';

export interface Need {
  readonly command: 'select' | 'insert' | 'update' | 'delete';
  /** The columns that the statements name; undefined for every one. */
  readonly columns?: readonly string[];
  /** What a person grants, where that is the whole table for the sake of what comes later. */
  readonly whole?: true;
}

// biome-ignore format: a line a need
export const needs: { readonly [Role in QueueRole]: readonly Need[] } = {
  enqueuer: [
    {
      command: 'insert',
      columns: [
        'queue', 'kind', 'payload', 'payload_version', 'priority', 'run_at', 'max_attempts', 'timeout_s', 'timeout_ms', 'meta',
        'dedupe_key',
      ],
    },
    // What an enqueue answers, and who holds its dedupe key.
    { command: 'select', columns: ['id', 'kind', 'dedupe_key', 'state'] },
  ],
  worker: [
    {
      command: 'select',
      columns: [
        'id', 'queue', 'kind', 'payload', 'payload_version', 'priority', 'run_at', 'state', 'attempts', 'max_attempts',
        'timeout_s', 'timeout_ms', 'locked_by', 'heartbeat_at', 'last_error', 'errors', 'meta', 'again', 'created_at',
      ],
      whole: true,
    },
    {
      command: 'update',
      columns: [
        'state', 'attempts', 'run_at', 'locked_by', 'heartbeat_at', 'started_at', 'finished_at', 'last_error', 'errors',
        'again', 'created_at',
        'result',
      ],
    },
    { command: 'delete' },
  ],
  reader: [{ command: 'select' }],
  operator: [
    { command: 'select' },
    {
      command: 'update',
      columns: [
        'state', 'attempts', 'run_at', 'payload', 'payload_version', 'locked_by', 'heartbeat_at', 'started_at', 'finished_at',
        'result', 'again',
      ],
    },
    { command: 'delete' },
  ],
};

/**
 * The same for the table of throttles. Of those who enqueue only some use it, so what they need is not looked for, as with
 * `onDuplicate: 'replace'`.
 */
export const throttleNeeds: { readonly [Role in QueueRole]: readonly Need[] } = {
  enqueuer: [],
  worker: [{ command: 'select' }, { command: 'update', columns: ['until'] }, { command: 'delete' }],
  reader: [],
  operator: [],
};

/** The same for the table of what is paused. */
export const limitsNeeds: { readonly [Role in QueueRole]: readonly Need[] } = {
  enqueuer: [],
  worker: [{ command: 'select' }],
  reader: [{ command: 'select' }],
  operator: [{ command: 'select' }, { command: 'insert', columns: ['scope', 'name'] }, { command: 'delete' }],
};
