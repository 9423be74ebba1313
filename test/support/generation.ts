/**
 * Set-up of every test file: fails when the file would run on another Drizzle than its vitest project says.
 * Nothing else would show it; the suite for 1.0 would be green on 0.45.
 */
import * as pgCore from 'drizzle-orm/pg-core';
import { inject } from 'vitest';
import type { Generation } from './provided.js';

const expected = inject('generation');
const loaded: Generation = 'PgAsyncDatabase' in pgCore ? 'v1' : 'v0';
if (loaded !== expected)
  throw new Error(`Expected Drizzle ${expected} in this project, but its imports give ${loaded}.`);
