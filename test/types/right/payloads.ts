/** Payload types that JSON carries: all of them compile, and stay what they are. */
import type { PushEvent, WebhookEvent } from '@octokit/webhooks-types';
import { expectTypeOf } from 'vitest';
import { type JsonValue, job } from '../../../src/index.js';

interface Line {
  readonly sku: string;
  amount?: number;
  gift?: boolean | undefined;
}
interface Order {
  id: number;
  lines: readonly Line[];
  note: string | null;
  customer: { name: string; tags: string[] };
}
enum Size {
  Small,
  Large,
}
enum Colour {
  Red = 'red',
}
declare const brand: unique symbol;
type UserId = number & { readonly [brand]: 'UserId' };
type Branded = { readonly [brand]: 'Branded'; id: UserId; slug: string & { readonly [brand]: 'Slug' } };
interface Tree {
  name: string;
  children: Tree[];
  parent?: Tree | null;
}
type Nested = string | Nested[] | { [key: string]: Nested };
interface Page<Item> {
  items: Item[];
  next?: string;
}
class Point {
  x = 0;
  y = 0;
  // A class of public fields only is an object to the compiler; the run time refuses its instances.
}

expectTypeOf(job<Order>().$payload).toEqualTypeOf<Order>();
expectTypeOf(job<Order, { total: number }>().$result).toEqualTypeOf<{ total: number }>();
expectTypeOf(job<Order>().queue('mail').$payload).toEqualTypeOf<Order>();
expectTypeOf(job().$payload).toEqualTypeOf<void>();
expectTypeOf(job({ maxAttempts: 3 }).$payload).toEqualTypeOf<void>();

export const accepted = [
  job<{ size: Size; colour: Colour }>(),
  job<Branded>(),
  job<Tree>(),
  job<{ tree: Nested }>(),
  job<{ value: JsonValue }>(),
  job<JsonValue>(),
  job<Page<Order>>(),
  job<Point>(),
  job<{ at: Point }>(),
  job<Record<string, number>>(),
  job<{ [key: `item-${string}`]: Line | undefined }>(),
  job<Partial<Record<'a' | 'b', readonly string[]>>>(),
  job<{ kind: 'circle'; r: number } | { kind: 'box'; sides: [width: number, height: number] }>(),
  job<{ pair: readonly [string, number?]; rest: [string, ...number[]] }>(),
  job<{ anything: unknown; list: unknown[] }>(),
  job<Record<string, unknown>>(),
  job<Readonly<Required<Pick<Order, 'id' | 'lines'>>>>(),
  job<Omit<Order, 'note'> & { note?: string }>(),
  job<string>(),
  job<number[]>(),
  job<PushEvent>(),
  job<{ event: WebhookEvent; deliveredAt: string }>(),
  job<{ id: number }, Order>(),
  job<{ id: number }, string[]>(),
];

// What an option of the kind is given has the payload's type.
job<Order>({
  retry: (error, attempt, payload) => {
    expectTypeOf(error).toEqualTypeOf<unknown>();
    expectTypeOf(attempt).toEqualTypeOf<number>();
    expectTypeOf(payload).toEqualTypeOf<Order>();
    return payload.lines.length > 1 ? 1_000 : false;
  },
});
job<Order>({
  dedupeKey: (payload) => {
    expectTypeOf(payload).toEqualTypeOf<Order>();
    return payload.lines.length > 0 ? `order ${payload.id}` : undefined;
  },
  onDuplicate: 'debounce',
  maxWaitMs: 60_000,
});
job({ dedupeKey: () => 'all', onDuplicate: undefined, maxWaitMs: undefined });
job<Order>({ dedupeKey: ({ id }) => `order ${id}`, onDuplicate: 'again' });
job<Order>({ dedupeKey: ({ id }) => `order ${id}`, onDuplicate: 'throttle', periodMs: 60_000 });
job<Order>({ retry: () => undefined, maxAttempts: undefined, timeoutMs: Number.POSITIVE_INFINITY });
