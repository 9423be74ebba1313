/** Whether a value of JSON has a part, as Postgres' `@>` means it. */

/** An object has each property of the part, at any depth; an array each element, anywhere in it; else they are the same. */
export function contains(whole: unknown, part: unknown): boolean {
  if (Array.isArray(part)) {
    return Array.isArray(whole) && part.every((one) => whole.some((each) => contains(each, one)));
  }
  if (typeof part !== 'object' || part === null) return whole === part;
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) return false;
  const values = new Map<string, unknown>(Object.entries(whole));
  return Object.entries(part).every(([key, value]) => values.has(key) && contains(values.get(key), value));
}
