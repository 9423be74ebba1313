/** How much a scenario does: the short form of every CI run, or the long one of `npm run test:faults -- --long`. */

export interface Size {
  /** Committed jobs of a scenario. */
  readonly jobs: number;
  /** A running job is rescued after this long without a heartbeat. */
  readonly rescueAfterMs: number;
  readonly heartbeatMs: number;
  /** How long Postgres is away: longer than `rescueAfterMs`. */
  readonly outageMs: number;
  readonly kills: number;
  /** Of workers that the others know, each waited for. */
  readonly deaths: number;
  readonly stops: number;
  readonly restarts: number;
  /** Backends and connections that are broken at random. */
  readonly breaks: number;
}

const short: Size = {
  jobs: 500,
  rescueAfterMs: 3_000,
  heartbeatMs: 500,
  outageMs: 8_000,
  kills: 5,
  deaths: 1,
  stops: 20,
  restarts: 6,
  breaks: 30,
};
const long: Size = {
  jobs: 10_000,
  rescueAfterMs: 3_000,
  heartbeatMs: 500,
  outageMs: 90_000,
  kills: 20,
  deaths: 10,
  stops: 200,
  restarts: 20,
  breaks: 300,
};

export const isLong = process.env['FAULTS'] === 'long';
export const size = isLong ? long : short;
