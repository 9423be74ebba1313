/** `npx drizzle-kit generate --config examples/github-webhooks/drizzle.config.ts`, from the top folder. */
import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './examples/github-webhooks/schema.ts',
  out: './examples/github-webhooks/drizzle',
});
