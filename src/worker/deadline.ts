/** A point in time that can be drawn nearer, never put off. */

export interface Deadline {
  /** Resolves when the time has come. */
  readonly passed: Promise<void>;
  /** The time comes in so many ms at the latest. */
  within(ms: number): void;
  /** Forgets the timer, which would keep the process alive, and takes no other. */
  cancel(): void;
}

export function createDeadline(): Deadline {
  let at = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let pass = (): void => {};
  const passed = new Promise<void>((resolve) => {
    pass = resolve;
  });
  return {
    passed,
    within(ms) {
      const then = performance.now() + ms;
      if (then >= at) return;
      at = then;
      clearTimeout(timer);
      timer = setTimeout(pass, ms);
    },
    cancel() {
      at = 0;
      clearTimeout(timer);
    },
  };
}

/** Waits for the work, but no longer than so many ms. The work must not reject. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const deadline = createDeadline();
  deadline.within(ms);
  await Promise.race([work, deadline.passed]);
  deadline.cancel();
}
