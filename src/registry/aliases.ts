/** The former names of kinds: rows that were enqueued under one are run by the kind that has it as an alias. */
import { QueueError, show } from '../words/errors.js';

interface Kinds {
  readonly [kind: string]: { readonly $aliases: readonly string[] };
}

/** Throws `INVALID_OPTION` unless each alias stands for one kind. */
export function checkAliases(kinds: Kinds): void {
  const taken = new Map<string, string>();
  for (const [kind, { $aliases }] of Object.entries(kinds)) {
    for (const alias of $aliases) {
      if (Object.hasOwn(kinds, alias)) throw ambiguous(alias, `an alias of ${show(kind)} and a kind itself`);
      const other = taken.get(alias);
      if (other !== undefined) throw ambiguous(alias, `an alias of both ${show(other)} and ${show(kind)}`);
      taken.set(alias, kind);
    }
  }
}

function ambiguous(alias: string, what: string): QueueError {
  return new QueueError('INVALID_OPTION', `${show(alias)} is ${what}: a name stands for one kind.`, {
    data: { option: 'alias', alias },
  });
}

/** The kind that has this name as an alias. */
export function kindOfAlias(kinds: Kinds, name: unknown): string | undefined {
  return Object.keys(kinds).find((kind) => kinds[kind]?.$aliases.some((alias) => alias === name));
}

/** Every name that rows of this kind may have; of a name that is no kind, that alone. */
export function namesOf(kinds: Kinds, kind: string): readonly string[] {
  return [kind, ...(Object.hasOwn(kinds, kind) ? (kinds[kind]?.$aliases ?? []) : [])];
}
