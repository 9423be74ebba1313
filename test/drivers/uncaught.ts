/** What would end the process: exceptions that nobody can catch, since a driver throws them outside of every promise. */

/** Runs `work` and gives the messages of such exceptions; vitest does not hear of them. */
export async function uncaughtDuring(work: () => Promise<void>): Promise<string[]> {
  const messages: string[] = [];
  const others = process.listeners('uncaughtException');
  const listener = (error: Error) => void messages.push(error.message);
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', listener);
  try {
    await work();
  } finally {
    process.off('uncaughtException', listener);
    for (const other of others) process.on('uncaughtException', other);
  }
  return messages;
}
