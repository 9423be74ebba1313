/**
 * Whether two predicates say the same, of which one is as we wrote it and the other as Postgres prints it: with casts,
 * with parentheses around everything, `in (…)` as `= ANY (ARRAY[…])` and `between` as two comparisons.
 */

export function isSameExpression(written: string, printed: string): boolean {
  return canonical(written) === canonical(printed);
}

/** Text, names, casts and words; what is quoted keeps its case. */
const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|::\w+(?: with(?:out)? time zone)?|\w+|[<>=!]+|[^\s\w]/g;

function canonical(expression: string): string {
  const tokens = (expression.match(token) ?? [])
    .filter((part) => !part.startsWith('::') && part !== '(' && part !== ')')
    .map((part) => (/^['"]/.test(part) ? part.replace(/^"([a-z_]\w*)"$/, '$1') : part.toLowerCase()));
  return tokens
    .join(' ')
    .replace(/= any array \[ (.*?) \]/g, 'in $1')
    .replace(/(^|\band )((?:(?!\band\b).)+?) between (\S+) and (\S+)/g, '$1$2 >= $3 and $2 <= $4');
}
