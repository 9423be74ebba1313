/**
 * The public types, on both generations of Drizzle: `right` compiles, and each wrong use in `wrong` is refused in its
 * line, with its code and its sentence.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Generation } from '../support/provided.js';
import { type Compiled, compileFixtures } from './compile.js';
import { differences } from './expected-errors.js';

describe.each<Generation>(['v0', 'v1'])('the types on Drizzle %s', (generation) => {
  let compiled: Compiled;
  beforeAll(async () => {
    compiled = await compileFixtures(generation);
  });

  it('are compiled with every wrong use', () => {
    expect(compiled.expected.length).toBeGreaterThan(80);
  });

  it('refuse each wrong use for the right reason, and nothing else', () => {
    expect(differences(compiled.expected, compiled.actual)).toEqual([]);
  });
});
