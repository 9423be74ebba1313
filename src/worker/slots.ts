/** How many jobs of each queue run at once in this process. */

export interface Slots {
  take(queue: string): void;
  free(queue: string): void;
  /** The queues that have room and are not held, each with how much. */
  room(): ReadonlyMap<string, number>;
  /** All slots of all queues. */
  readonly total: number;
}

export function createSlots(sizes: ReadonlyMap<string, number>, isHeld: (queue: string) => boolean): Slots {
  const used = new Map<string, number>();
  const change = (queue: string, by: number) => used.set(queue, (used.get(queue) ?? 0) + by);
  return {
    take: (queue) => void change(queue, 1),
    free: (queue) => void change(queue, -1),
    room() {
      const free = [...sizes].map(([queue, size]) => [queue, size - (used.get(queue) ?? 0)] as const);
      return new Map(free.filter(([queue, n]) => n > 0 && !isHeld(queue)));
    },
    total: [...sizes.values()].reduce((sum, size) => sum + size, 0),
  };
}
