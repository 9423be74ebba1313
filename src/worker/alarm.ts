/** A sleep that can be ended early. */

export interface Alarm {
  /** Resolves after so many ms, or when woken; at once when it was woken since the last sleep. */
  sleep(ms: number): Promise<void>;
  wake(): void;
}

export function createAlarm(): Alarm {
  let rung = false;
  let end: (() => void) | undefined;
  return {
    sleep(ms) {
      if (rung) {
        rung = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const timer = setTimeout(() => end?.(), ms);
        end = () => {
          clearTimeout(timer);
          end = undefined;
          rung = false;
          resolve();
        };
      });
    },
    wake() {
      rung = true;
      end?.();
    },
  };
}
