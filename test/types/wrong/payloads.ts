/** Payload types that JSON cannot carry: each is refused with a sentence that says why, and with the path. */
import { defineJobs, job } from '../../../src/index.js';

interface Line {
  sku: string;
  at: Date;
}
interface Order {
  id: number;
  lines: Line[];
}
interface User {
  name: string;
  save(): void;
}
interface Model {
  save(): void;
}
class Account {
  id = 0;
  #secret = '';
  reveal(): string {
    return this.#secret;
  }
}
declare const tag: unique symbol;

// One kind of value after the other.
// @ts-expect-error TS2344: 'at' … Type 'Date' is not assignable to type '"a Date is not JSON: use an ISO string"'.
job<{ at: Date }>();
// @ts-expect-error TS2344: 'seen' … '"a Map or Set is not JSON: use an object or an array"'.
job<{ seen: Map<string, number> }>();
// @ts-expect-error TS2344: 'seen' … '"a Map or Set is not JSON: use an object or an array"'.
job<{ seen: Set<string> }>();
// @ts-expect-error TS2344: 'seen' … '"a Map or Set is not JSON: use an object or an array"'.
job<{ seen: ReadonlySet<number> }>();
// @ts-expect-error TS2344: 'seen' … '"a Map or Set is not JSON: use an object or an array"'.
job<{ seen: WeakMap<object, string> }>();
// @ts-expect-error TS2344: 'big' … Type 'bigint' is not assignable to type '"a bigint is not JSON: use a string or a number"'.
job<{ big: bigint }>();
// @ts-expect-error TS2344: 'mark' … Type 'symbol' is not assignable to type '"a symbol is not JSON"'.
job<{ mark: symbol }>();
// @ts-expect-error TS2344: 'run' … Type '() => void' is not assignable to type '"a function is not JSON"'.
job<{ run: () => void }>();
// @ts-expect-error TS2344: 'type' … '"a class is not JSON"'.
job<{ type: typeof Account }>();
// @ts-expect-error TS2344: 'file' … '"bytes are not JSON: use base64 text"'.
job<{ file: Buffer }>();
// @ts-expect-error TS2344: 'file' … '"bytes are not JSON: use base64 text"'.
job<{ file: Uint8Array }>();
// @ts-expect-error TS2344: 'file' … '"bytes are not JSON: use base64 text"'.
job<{ file: ArrayBuffer }>();
// @ts-expect-error TS2344: 'why' … '"an Error is not JSON: use its message"'.
job<{ why: TypeError }>();
// @ts-expect-error TS2344: 'page
job<{ page: URL }>();
// @ts-expect-error TS2344: '"a function is not JSON"'.
job<{ later: Promise<string> }>();

// Objects with methods, or with members that nobody else can make.
// @ts-expect-error TS2344: 'user.save' … Type '() => void' is not assignable to type '"a function is not JSON"'.
job<{ user: User }>();
// @ts-expect-error TS2344: 'save' … '"a function is not JSON"'.
job<Model>();
// @ts-expect-error TS2344: Type 'Account' does not satisfy the constraint 'JsonObject<Account>'.
job<Account>();
// @ts-expect-error TS2344: '"a Date is not JSON: use an ISO string"'.
job<{ [tag]: string; at: Date }>();

// Inside other types.
// @ts-expect-error TS2344: 'lines' … 'readonly JsonObject<Line>[]' … 'at' … '"a Date is not JSON: use an ISO string"'.
job<Order>();
// @ts-expect-error TS2344: 'times' … '"a Date is not JSON: use an ISO string"'.
job<{ times: Date[] }>();
// @ts-expect-error TS2344: 'times' … '"a Date is not JSON: use an ISO string"'.
job<{ times: readonly (readonly Date[])[] }>();
// Beside `string` the sentence is lost, since it is one; the path and the type are named.
// @ts-expect-error TS2344: 'when' … Type 'Date' is not assignable to type 'string'.
job<{ when: string | Date }>();
// @ts-expect-error TS2344: 'when' … '"a Date is not JSON: use an ISO string"'.
job<{ when?: Date }>();
// @ts-expect-error TS2344: 'when' … '"a Date is not JSON: use an ISO string"'.
job<{ when: Date | null | undefined }>();
// @ts-expect-error TS2344: '"a Date is not JSON: use an ISO string"'.
job<Record<string, Date>>();
// @ts-expect-error TS2344: '"a Date is not JSON: use an ISO string"'.
job<{ byDay: Record<string, { from: Date }> }>();
// @ts-expect-error TS2344: '"a bigint is not JSON: use a string or a number"'.
job<{ pair: [string, bigint] }>();
// @ts-expect-error TS2344: '"a bigint is not JSON: use a string or a number"'.
job<{ pair: [string, bigint?] }>();
// @ts-expect-error TS2344: 'at' … '"a Date is not JSON: use an ISO string"'.
job<{ kind: 'a'; at: string } | { kind: 'b'; at: Date }>();
// @ts-expect-error TS2344: 'a.b.c.d' … '"a Date is not JSON: use an ISO string"'.
job<{ a: { b: { c: { d: Date } } } }>();

// An undefined that JSON would turn into null.
// @ts-expect-error TS2344: Type 'undefined' is not assignable to type '"undefined in an array is not JSON: use null"'.
job<{ list: (string | undefined)[] }>();
// @ts-expect-error TS2344: '"undefined in an array is not JSON: use null"'.
job<{ pair: [string, undefined] }>();

// At the top.
// @ts-expect-error TS2344: Type 'Date' does not satisfy the constraint
job<Date>();
// @ts-expect-error TS2344: Type 'Map<string, number>' does not satisfy the constraint
job<Map<string, number>>();
// @ts-expect-error TS2344: '"a Date is not JSON: use an ISO string"'.
job<Date[]>();
// @ts-expect-error TS2344: Type 'unknown' does not satisfy the constraint
job<unknown>();

// Results are checked as payloads are.
// @ts-expect-error TS2344: 'at' … '"a Date is not JSON: use an ISO string"'.
job<{ id: number }, { at: Date }>();

// Options.
// @ts-expect-error TS2769: 'queue' does not exist in type 'JobOptions<
job({ queue: 'mail' });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'.
job<{ id: number }>({ maxAttempts: '3' });
// @ts-expect-error TS2339: Property 'orderId' does not exist on type '{ id: number; }'.
job<{ id: number }>({ retry: (_error, _attempt, payload) => payload.orderId });
// @ts-expect-error TS2322: Type 'true' is not assignable to type 'number | false | undefined'.
job<{ id: number }>({ retry: () => true });
// @ts-expect-error TS2339: Property 'orderId' does not exist on type '{ id: number; }'.
job<{ id: number }>({ dedupeKey: (payload) => payload.orderId });
// @ts-expect-error TS2322: Type 'number' is not assignable to type 'string'.
job<{ id: number }>({ dedupeKey: ({ id }) => id });
// @ts-expect-error TS2322: Type 'null' is not assignable to type 'string | undefined'.
job<{ id: number }>({ dedupeKey: () => null });
// @ts-expect-error TS2322: Type '"ignore"' is not assignable to type
job<{ id: number }>({ onDuplicate: 'ignore' });
// @ts-expect-error TS2820: Type '"thrttle"' is not assignable to type … Did you mean '"throttle"'?
job<{ id: number }>({ onDuplicate: 'thrttle' });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'.
job<{ id: number }>({ onDuplicate: 'throttle', periodMs: '1 min' });
// @ts-expect-error TS2345: Argument of type 'number' is not assignable to parameter of type 'string'.
job().queue(5);

// @ts-expect-error TS2322: Type 'string' is not assignable to type 'JobType<any, any, string
defineJobs({ ping: 'job' });

class Wallet {
  id = 0;
  private balance = 0;
  static worth = (wallet: Wallet): number => wallet.balance;
}
class Purse {
  id = 0;
  private balance = 0;
  static worth = (purse: Purse): number => purse.balance;
}
class Secret {
  id = 0;
  readonly #key = 'k';
  static key = (secret: Secret): string => secret.#key;
}
// @ts-expect-error TS2344: '"an object with private members is not JSON: use an interface"'.
job<Wallet>();
// @ts-expect-error TS2344: 'purses' … '"an object with private members is not JSON: use an interface"'.
job<{ purses: Purse[] }>();
// @ts-expect-error TS2344: '"an object with private members is not JSON: use an interface"'.
job<{ secret?: Secret | null }>();
