/**
 * The words the three ways to get a Postgres have in common.
 */

/** Where a server comes from, in the order in which `startPostgres` tries. */
export const sources = ['DATABASE_URL', 'testcontainers', 'embedded'] as const;
export type Source = (typeof sources)[number];

/**
 * `fast` ends all sessions and shuts down cleanly; `immediate` is a crash, so the next start runs recovery.
 */
export type ShutdownMode = 'fast' | 'immediate';

export type Postgres = {
  /**
   * Connection string of a role that may create databases, to a maintenance database. Stays the same over
   * restarts.
   */
  readonly url: string;
  readonly source: Source;
  /** As in `show server_version`, without what a distribution adds: `18.4`. */
  readonly version: string;
  stop(): Promise<void>;
  /** @throws Error for `DATABASE_URL`: that server is not ours to restart. */
  restart(mode?: ShutdownMode): Promise<void>;
};

/** Settings of the server, by their Postgres names; they go over `defaultSettings`. */
export type Settings = Readonly<Record<string, string | number>>;

/**
 * For data that is thrown away. `fsync = off` loses nothing when Postgres itself crashes, which is what the
 * tests do: only a crash of the machine could tell the difference.
 */
export const defaultSettings: Settings = { max_connections: 200, shared_buffers: '128MB', fsync: 'off' };

/** The settings as arguments of the `postgres` program. */
export function settingArguments(settings: Settings = {}): string[] {
  return Object.entries({ ...defaultSettings, ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
}
