/** The migrations of this repository: what every test database was made by. */
import { expect, it } from 'vitest';
import { storageParameters } from '../../src/database/storage.js';
import { useDatabase } from '../support/database.js';
import { inspect } from './live.js';

const database = useDatabase();

it('the committed migrations set the storage parameters of this version', async () => {
  const { storage } = await inspect(database.url);
  expect(storage).toEqual({ 'public.jobs': [...storageParameters].map((each) => each.join('=')) });
});
