/** How a worker stops: it lets jobs end, then gives back the rest, and never waits longer than it said. */
import { QueueError } from '../words/errors.js';
import { atMost, type Deadline } from './deadline.js';
import type { Events } from './events.js';
import type { Run } from './execute.js';
import type { Parts } from './parts.js';

/** How long handlers may take to react to the abort at the end of the grace, and the last writes to go through. */
const reactMs = 500;
const writeMs = 1_200;

/**
 * Stops the parts in their order. Heartbeats go on to the end, so that nobody rescues what is still at work.
 * `claimed` resolves when the loop has taken over its last claim.
 */
export async function stopParts(
  { loop, upkeep, finisher, listening, paused, schemaCheck, throttles, running }: Parts,
  events: Events,
  claimed: Promise<void>,
  grace: Deadline,
): Promise<void> {
  events.emit('stopping', { running: running.size });
  loop.stop();
  listening.leave();
  paused.stop();
  schemaCheck.stop();
  throttles.stop();
  upkeep.stopRescuing();
  finisher.hurry();
  // The grace is for the ends as well: a database that is away for a moment must not cost the jobs that are done.
  const done = claimed.then(() => allOver(running)).then(() => finisher.idle());
  await Promise.race([done, grace.passed]);
  grace.cancel();
  await giveBack(running);
  finisher.hurry();
  await atMost(
    writeMs,
    claimed.then(() => finisher.idle()),
  );
  const unwritten = finisher.close();
  upkeep.stop();
  await listening.stop(); // not before: its end is what others take for a death
  events.emit('stopped', { unwritten });
}

async function giveBack(running: ReadonlySet<Run>): Promise<void> {
  if (running.size === 0) return;
  const reason = new QueueError('WORKER_STOPPED', 'The worker stops, and the time it gave its jobs is over.');
  const release = { move: 'release', started: true } as const;
  for (const run of running) run.abort(reason, release);
  // A handler that reacts to its signal gets the time to clean up before another worker may start the job.
  await atMost(reactMs, allOver(running));
  for (const run of running) run.end(reason, release);
  await allOver(running);
}

function allOver(running: ReadonlySet<Run>): Promise<unknown> {
  return Promise.all([...running].map((run) => run.over()));
}
