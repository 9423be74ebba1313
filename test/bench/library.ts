/** The library as its users have it: the build, not the sources. */
import { fileURLToPath } from 'node:url';

export { createQueue, defineJobs, type JobType, job } from '../../dist/index.js';
export { jobs } from '../../dist/schema.js';
export { createWorker } from '../../dist/worker.js';

/** The repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url));
