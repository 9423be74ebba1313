/**
 * Wrong uses say above themselves how the compiler refuses them: `@ts-expect-error TS2345: a part … another part`,
 * in a line comment. The compiler itself would be content with any error in that line, so the fixtures are compiled
 * once more without its marker, and what it then says is compared.
 *
 * `TS2741 or TS2345`: TypeScript 7 reports the reason where older ones report an argument and the reason below it.
 */

export interface ExpectedError {
  readonly file: string;
  readonly line: number;
  readonly codes: readonly string[];
  /** What the message contains, in this order. */
  readonly parts: readonly string[];
}

export interface Diagnostic {
  readonly file: string;
  readonly line: number;
  readonly code: string;
  /** All lines of it, the reasons below the first included. */
  readonly text: string;
}

const marker = '@ts-expect-error';

/** The same lines with a comment that means nothing to the compiler. */
export function withoutMarkers(source: string): string {
  return source.replaceAll(marker, 'expected');
}

/** @throws Error for a marker that does not say which error it expects. */
export function expectedErrors(file: string, source: string): ExpectedError[] {
  return source.split('\n').flatMap((text, index) => {
    if (!text.includes(marker)) return [];
    const said = text.match(/^\s*\/\/ @ts-expect-error (TS\d+(?: or TS\d+)*): (.+)$/);
    if (!said?.[1] || !said[2])
      throw new Error(`${file}:${index + 1} does not say "// ${marker} TS<code>: <parts of the message>".`);
    const parts = said[2].split(' … ').map((part) => part.trim());
    return [{ file, line: index + 2, codes: said[1].split(' or '), parts }];
  });
}

/** Reads what `tsc --pretty false` prints. An error that lies in no file has '' for it, and is so expected nowhere. */
export function readDiagnostics(output: string): Diagnostic[] {
  return output
    .trimEnd()
    .split(/\n(?=\S)/)
    .filter((block) => block !== '')
    .map((block) => {
      const said = block.match(/^(?:(.+?)\((\d+),\d+\): )?error (TS\d+): ([\s\S]+)$/);
      if (!said) throw new Error(`tsc said: ${block}`);
      const [, file = '', line = '0', code = '', text = ''] = said;
      return { file, line: Number(line), code, text };
    });
}

/** Every difference between what was expected and what the compiler said, as sentences; [] when there is none. */
export function differences(expected: readonly ExpectedError[], actual: readonly Diagnostic[]): string[] {
  const missing = expected.flatMap((one) => {
    const there = actual.filter((other) => isAt(one, other));
    if (there.length === 0) return [`${place(one)} compiles, but ${one.codes.join(' or ')} was expected`];
    if (there.length > 1) return [`${place(one)} has ${there.length} errors:\n${there.map(say).join('\n')}`];
    return there
      .filter((other) => !fits(one, other))
      .map((other) => `${place(one)} has another error:\n${say(other)}`);
  });
  const unexpected = actual.filter((other) => !expected.some((one) => isAt(one, other)));
  return [
    ...missing,
    ...unexpected.map((other) => `${place(other)} has an unexpected error:\n${say(other)}`),
  ];
}

interface Place {
  readonly file: string;
  readonly line: number;
}

function isAt(one: Place, other: Place): boolean {
  return one.file === other.file && one.line === other.line;
}

function fits({ codes, parts }: ExpectedError, actual: Diagnostic): boolean {
  let from = 0;
  for (const part of parts) {
    const at = actual.text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return codes.includes(actual.code);
}

function place({ file, line }: Place): string {
  return `${file}:${line}`;
}

function say({ code, text }: Diagnostic): string {
  return `${code}: ${text}`;
}
