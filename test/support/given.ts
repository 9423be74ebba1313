/** What `data.given` of an error has for a value: the value, or of an object only what it is. */
import { show } from '../../src/words/errors.js';

export function givenInData(value: unknown): unknown {
  return Object(value) === value ? show(value) : value;
}
