/**
 * The public types, on both generations of Drizzle and three TypeScripts: `right` compiles, and each wrong use in
 * `wrong` is refused in its line, with its code and its sentence.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Generation } from '../support/provided.js';
import { type Compiler, compilers, type Fixtures, prepareFixtures } from './compile.js';
import { type Diagnostic, differences } from './expected-errors.js';

const generations: Generation[] = ['v0', 'v1'];

let fixtures: Fixtures;
const compiled = new Map<string, Diagnostic[]>();
const key = (generation: Generation, compiler: Compiler): string => `${generation} ${compiler}`;

beforeAll(async () => {
  fixtures = await prepareFixtures();
  const compileAll = async (generation: Generation) => {
    for (const compiler of compilers)
      compiled.set(key(generation, compiler), await fixtures.compile(generation, compiler));
  };
  await Promise.all(generations.map(compileAll)); // two compilers at a time
}, 240_000);
afterAll(() => fixtures?.remove());

it('the wrong uses are many', () => {
  expect(fixtures.expected.length).toBeGreaterThan(90);
});

describe.each(generations)('the types on Drizzle %s', (generation) => {
  it.each(compilers)(
    'are refused by %s for the right reason in each wrong use, and nowhere else',
    (compiler) => {
      const actual = compiled.get(key(generation, compiler)) ?? [];
      expect(differences(fixtures.expected, actual)).toEqual([]);
    },
  );
});
