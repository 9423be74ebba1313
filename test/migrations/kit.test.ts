/**
 * The tables under each generation of drizzle-kit, in `public` and in a schema of their own: whatever comes again,
 * generate or push, changes nothing, and push leaves what our own migration has set.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type App, config, kits, schemas, useApps } from '../cli/app.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { addJob, inspect } from './live.js';

// Each test starts several processes that compile TypeScript.
vi.setConfig({ testTimeout: 120_000 });

const makeApp = useApps();
const storage = ['fillfactor=70', 'autovacuum_vacuum_scale_factor=0.01'];

/** An app with an empty database. */
function useApp(make: (url: string) => App): { readonly app: App; readonly url: string } {
  let used: { app: App; database: TestDatabase } | undefined;
  beforeAll(async () => {
    const database = await createDatabase({ empty: true });
    used = { app: make(database.url), database };
  });
  afterAll(() => used?.database.drop());
  const ready = () => {
    if (!used) throw new Error('useApp() has no app before beforeAll.');
    return used;
  };
  return {
    get app() {
      return ready().app;
    },
    get url() {
      return ready().database.url;
    },
  };
}

const places = [
  { place: 'public', more: '' },
  // Without it push of 0.31 looks at `public` only.
  { place: 'work', more: "schemaFilter: ['public', 'work']," },
] as const;

describe.each(kits)('$kit', ({ generation }) => {
  describe.each(places)('with the table in $place', ({ place, more }) => {
    const table = `${place}.jobs`;
    const make = (url: string) => {
      const app = makeApp(generation, { url, schema: schemas[place] });
      app.write('drizzle.config.ts', config(more));
      return app;
    };

    describe('and migrations', () => {
      const used = useApp(make);

      it('applies all of them on an empty database, ours as well', async () => {
        await used.app.kit('generate');
        expect(await used.app.cli('migration', '--trigger', '--schema', place)).toMatchObject({
          exitCode: 0,
        });
        expect((await used.app.kit('generate')).stdout).toContain('No schema changes');

        expect(await used.app.kit('migrate')).toMatchObject({ exitCode: 0 });
        const live = await inspect(used.url);
        expect(live.storage).toEqual({ [table]: storage });
        expect(live.triggers).toEqual([
          expect.stringContaining(`AFTER INSERT ON ${table} REFERENCING NEW TABLE`),
        ]);
      });

      it('finds nothing to change with push, again and again, and leaves the storage parameters', async () => {
        await addJob(used.url, table);
        const migrated = await inspect(used.url);
        for (let push = 1; push <= 2; push++) {
          expect((await used.app.kit('push')).stdout).toContain('No changes detected');
        }
        expect(await inspect(used.url)).toEqual(migrated);
        expect(migrated).toMatchObject({ rows: 1, storage: { [table]: storage } });
      });
    });

    describe('and push alone', () => {
      const used = useApp(make);

      it('makes the table as migrations do, and the second push changes nothing', async () => {
        await used.app.kit('push');
        await addJob(used.url, table);
        const pushed = await inspect(used.url);
        expect(pushed.definitions.length).toBeGreaterThan(30);
        expect((await used.app.kit('push')).stdout).toContain('No changes detected');
        expect(await inspect(used.url)).toEqual(pushed);
      });
    });
  });
});

describe('from drizzle-kit 0.31 to 1.0', () => {
  describe.each(places)('with the table in $place', ({ place, more }) => {
    const table = `${place}.jobs`;
    const used = useApp((url) => {
      const app = makeApp('v0', { url, schema: schemas[place] });
      app.write('drizzle.config.ts', config(more));
      return app;
    });

    it('makes no change and loses nothing', async () => {
      const { app, url } = used;
      await app.kit('generate');
      await app.cli('migration', '--schema', place);
      await app.kit('migrate');
      await addJob(url, table);
      const before = await inspect(url);
      expect(before).toMatchObject({ rows: 1, storage: { [table]: storage } });

      app.install('v1');
      expect(await app.kit('up')).toMatchObject({ exitCode: 0 });
      expect(Object.keys(app.files('drizzle')).filter((file) => file.endsWith('migration.sql'))).toHaveLength(
        2,
      );
      expect((await app.kit('generate')).stdout).toContain('No schema changes');
      expect((await app.cli('migration', '--schema', place)).stdout).toContain('Nothing to do');
      expect(await app.kit('migrate')).toMatchObject({ exitCode: 0 });
      expect((await app.kit('push')).stdout).toContain('No changes detected');
      expect(await inspect(url)).toEqual(before);
    });
  });
});
