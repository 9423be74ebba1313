/** All scenarios, in the order of the table of goals. A new one is a file here and a line below. */
import { backlog } from './backlog.js';
import { burst } from './burst.js';
import { commits } from './commits.js';
import { drain } from './drain.js';
import { enqueue } from './enqueue.js';
import { enqueueInTransaction } from './enqueue-in-transaction.js';
import { future } from './future.js';
import { idle } from './idle.js';
import { latency } from './latency.js';
import { memory } from './memory.js';
import { pinned } from './pinned.js';
import { queuesScenario } from './queues.js';
import { scale } from './scale.js';
import type { Scenario } from './scenario.js';
import { tutorial } from './tutorial.js';

export const scenarios: readonly Scenario[] = [
  drain,
  tutorial,
  enqueue,
  enqueueInTransaction,
  latency,
  commits,
  backlog,
  future,
  queuesScenario,
  pinned,
  idle,
  burst,
  memory,
  scale,
];
