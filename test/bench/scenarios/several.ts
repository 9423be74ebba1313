/** What scenarios with several worker processes have in common. */
import type { ContenderProcess } from '../process/contender-process.js';
import type { Bench } from '../stage.js';

/** All of them, each up and connected to the harness: none begins to work while another still starts. */
export async function startSeveral(
  { contender, another }: Bench,
  processes: number,
): Promise<readonly ContenderProcess[]> {
  const more = await Promise.all(Array.from({ length: processes - 1 }, () => another()));
  const all = [contender, ...more];
  await Promise.all(all.map((one) => one.call('settings')));
  return all;
}
