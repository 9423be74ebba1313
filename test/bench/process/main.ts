/** The process of a contender: makes it, and does what the harness says, one command after the other. */
import { type ContenderSpec, createContender } from '../contenders/index.js';
import { type Answer, type Call, createCommands } from './commands.js';

const [spec = '', url = ''] = process.argv.slice(2);
const chosen: ContenderSpec = JSON.parse(spec);
const contender = await createContender(chosen, url);
const commands = createCommands(contender, url);
if (!process.connected) process.exit(); // the harness ended meanwhile

process.on('message', async ({ id, name, args }: Call) => {
  const command: (...args: never[]) => unknown = commands[name];
  let answer: Answer;
  try {
    answer = { id, result: await command(...(args as never[])) };
  } catch (error) {
    answer = { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  process.send?.(answer);
});

// The harness is done with this process, or gone.
process.once('disconnect', () => {
  setTimeout(() => process.exit(), 3_000).unref();
  void contender.end().finally(() => process.exit());
});
