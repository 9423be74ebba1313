/** The arguments of an enqueue, as types. */
import type { AnyRegistry } from '../registry/registry.js';
import type { EnqueueOptions } from './enqueue-options.js';

/** The names of a registry's queues. */
export type QueueNames<R extends AnyRegistry> = R['kinds'][keyof R['kinds']]['$queue'];

/** The payload where a person gives another one: it may be left out as in {@link EnqueueArgs}, which then stores `{}`. */
export type UpdateArgs<R extends AnyRegistry, Kind extends keyof R['kinds']> = {
  [K in Kind]: (payload: R['kinds'][K]['$payload']) => void;
}[Kind] extends (payload: infer Payload) => void
  ? undefined extends Payload
    ? [payload?: Payload]
    : [payload: Payload]
  : never;

/** The arguments after the kind: the payload may be left out where the kind has none; a union of kinds is refused. */
export type EnqueueArgs<R extends AnyRegistry, Kind extends keyof R['kinds']> = {
  [K in Kind]: (payload: R['kinds'][K]['$payload']) => void;
}[Kind] extends (payload: infer Payload) => void
  ? undefined extends Payload
    ? [payload?: Payload, options?: EnqueueOptions<QueueNames<R>>]
    : [payload: Payload, options?: EnqueueOptions<QueueNames<R>>]
  : never;
