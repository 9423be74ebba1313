import { defineConfig } from 'drizzle-kit';

/** Generates `drizzle/` from our own schema, as an app does from the schema that re-exports it. */
export default defineConfig({ dialect: 'postgresql', schema: './src/schema.ts', out: './drizzle' });
