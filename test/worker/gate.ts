/** A point that handlers wait at until the test lets them go on. */

export type Gate = { readonly passed: Promise<void>; open(): void };

export function createGate(): Gate {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}
