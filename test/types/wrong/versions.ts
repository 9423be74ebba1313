/** Mistakes with the versions and aliases of a kind that the compiler must find. */
import { createQueue, defineJobs, job } from '../../../src/index.js';
import { createWorker } from '../../../src/worker.js';
import { db, tx } from '../app.js';

interface V1 {
  user: number;
}
interface V2 {
  userId: number;
}
interface V3 {
  userId: number;
  locale: string;
}
const v3 = job<V3>({ version: 3 });

// A step that does not give the next version, and one that leaves a version out.
// @ts-expect-error TS2322 or TS2741: Property 'locale' is missing in type … but required in type 'V3'.
v3.upgradeFrom<V2>(2, ({ userId }) => ({ userId }));
// @ts-expect-error TS2741 or TS2322: Property 'userId' is missing in type … but required in type 'V2'.
v3.upgradeFrom<V2>(2, (old) => ({ ...old, locale: 'en' })).upgradeFrom<V1>(1, (old) => old);
// @ts-expect-error TS2339: Property 'userId' does not exist on type 'V1'.
v3.upgradeFrom<V1>(2, ({ userId }) => ({ userId, locale: 'en' }));
// @ts-expect-error TS2322: Type 'number' is not assignable to type 'string'.
v3.upgradeFrom<V2>(2, (old) => ({ ...old, locale: 7 }));
// @ts-expect-error TS2739: Type 'Promise< … is missing the following properties from type 'V3': userId, locale
v3.upgradeFrom<V2>(2, async (old) => ({ ...old, locale: 'en' }));
// @ts-expect-error TS2322: Type 'undefined' is not assignable to type 'V3'.
v3.upgradeFrom<V2>(2, (old) => void old);
// @ts-expect-error TS2554: Expected 2 arguments, but got 1.
v3.upgradeFrom<V2>(2);
// @ts-expect-error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.
v3.upgradeFrom<V2>('2', (old) => ({ ...old, locale: 'en' }));

// Older payloads are JSON too.
// @ts-expect-error TS2344: 'at' … Type 'Date' is not assignable to type '"a Date is not JSON: use an ISO string"'.
v3.upgradeFrom<{ at: Date }>(2, () => ({ userId: 1, locale: 'en' }));

// The version is a number, and an option.
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'.
job<V3>({ version: '3' });
// @ts-expect-error TS2345: Argument of type 'number' is not assignable to parameter of type 'string'.
v3.alias(3);

const registry = defineJobs({
  sendMail: v3.upgradeFrom<V2>(2, (old) => ({ ...old, locale: 'en' })).alias('send_mail'),
});
const queue = createQueue(registry);
// An alias is a name of rows: nothing is enqueued under it, and no handler has it.
// @ts-expect-error TS2345: Argument of type '"send_mail"' is not assignable to parameter of type '"sendMail"'.
await queue.enqueue(tx, 'send_mail', { userId: 1, locale: 'en' });
// @ts-expect-error TS2741 or TS2345: Property 'locale' is missing in type … but required in type 'V3'.
await queue.enqueue(tx, 'sendMail', { userId: 1 });
createWorker({
  db,
  registry,
  queues: { default: 1 },
  // @ts-expect-error TS2353 or TS2561: 'send_mail' does not exist in type 'Handlers<
  handlers: { sendMail: () => {}, send_mail: () => {} },
});
// @ts-expect-error TS2345: Argument of type '"send_mail"' is not assignable to parameter of type '"sendMail"'.
queue.isKind({ kind: 'send_mail', payload: {} }, 'send_mail');

// What is read needs its version.
// @ts-expect-error TS2741 or TS2345: Property 'payloadVersion' is missing in type
queue.read({ kind: 'sendMail', payload: {} });
declare const joined: { kind: string | null; payload: unknown; payloadVersion: number | null };
// @ts-expect-error TS2345: Type 'string | null' is not assignable to type 'string'.
queue.read(joined);
const read = queue.read({ kind: 'sendMail', payload: {}, payloadVersion: 3 });
// @ts-expect-error TS2339: Property 'user' does not exist on type 'V3'.
console.log(read.payload.user);
