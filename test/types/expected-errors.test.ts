/** The comparison that the type tests rest on: it must see every way in which the compiler may disagree. */
import { describe, expect, it } from 'vitest';
import { differences, expectedErrors, readDiagnostics, withoutMarkers } from './expected-errors.js';

const source = `const a = 1;
  // @ts-expect-error TS2322: Type 'string' … type 'number'.
  const b: number = 'b';`;
const expected = expectedErrors('b.ts', source);
const said = "b.ts(3,9): error TS2322: Type 'string' is not assignable\n  to type 'number'.\n";

describe('the expected errors', () => {
  it('are read from the comments, for the line below each', () => {
    expect(expected).toEqual([
      { file: 'b.ts', line: 3, codes: ['TS2322'], parts: ["Type 'string'", "type 'number'."] },
    ]);
    expect(() => expectedErrors('b.ts', '// @ts-expect-error somehow wrong')).toThrow('b.ts:1 does not say');
    expect(withoutMarkers(source)).not.toContain('@ts-');
  });

  it('match an error with this code and these parts, wherever its lines break', () => {
    expect(differences(expected, readDiagnostics(said))).toEqual([]);
  });

  it('match an error with any of several codes', () => {
    const either = expectedErrors('b.ts', source.replace('TS2322', 'TS2741 or TS2322'));
    expect(differences(either, readDiagnostics(said))).toEqual([]);
    expect(differences(either, readDiagnostics(said.replace('TS2322', 'TS2741')))).toEqual([]);
    expect(differences(either, readDiagnostics(said.replace('TS2322', 'TS2345')))).toHaveLength(1);
  });

  it.each([
    ['no error', '', 'b.ts:3 compiles'],
    ['another code', said.replace('TS2322', 'TS2345'), 'b.ts:3 has another error'],
    ['another sentence', said.replace('number', 'boolean'), 'b.ts:3 has another error'],
    ['the parts in another order', "b.ts(3,9): error TS2322: type 'number'. Type 'string'", 'another error'],
    ['two errors', `${said}${said}`, 'b.ts:3 has 2 errors'],
    ['an error elsewhere too', `${said}b.ts(1,1): error TS1: No.\n`, 'b.ts:1 has an unexpected error'],
    [
      'an error of no file too',
      `${said}error TS18003: No inputs were found.\n`,
      ':0 has an unexpected error',
    ],
  ])('do not match %s', (_what, output, sentence) => {
    expect(differences(expected, readDiagnostics(output))).toEqual([expect.stringContaining(sentence)]);
  });

  it('are not compared with what is no list of errors', () => {
    expect(() => readDiagnostics('Segmentation fault')).toThrow('tsc said: Segmentation fault');
  });
});
