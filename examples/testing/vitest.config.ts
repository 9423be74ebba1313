/** Of its own, since the repository's looks elsewhere. An app needs none of it. */
import { defineConfig } from 'vitest/config';

export default defineConfig({ test: { include: ['*.test.ts'] } });
