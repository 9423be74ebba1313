/** What a process holds beside memory: timers, sockets, and listeners on itself, its pool and the pool's clients. */
import type { EventEmitter } from 'node:events';
import type pg from 'pg';

export interface Held {
  readonly timers: number;
  readonly sockets: number;
  /** The most of one event on one emitter. */
  readonly listeners: number;
}

/** Call it before the pool has clients. */
export function watchHeld(pool: pg.Pool | undefined): () => Held {
  const emitters = new Set<EventEmitter>([process]);
  if (pool) emitters.add(pool);
  pool?.on('connect', (client) => void emitters.add(client));
  pool?.on('remove', (client) => void emitters.delete(client));
  return () => {
    const resources = process.getActiveResourcesInfo();
    return {
      timers: resources.filter((name) => name === 'Timeout').length,
      sockets: resources.filter((name) => name === 'TCPSocketWrap').length,
      listeners: Math.max(...[...emitters].map(mostListeners)),
    };
  };
}

function mostListeners(emitter: EventEmitter): number {
  return Math.max(0, ...emitter.eventNames().map((name) => emitter.listenerCount(name)));
}
