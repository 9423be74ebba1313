/**
 * Whom the Postgres programs run as, and with which environment.
 * Postgres refuses to run as root, so root hands them to a user without rights or name on the system.
 */
const NOBODY = 65_534;

export const isRoot = process.getuid?.() === 0;

export const serverUser = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/**
 * Without the caller's PG… variables; in the C locale, so that messages are English and every system has it.
 */
export const serverEnvironment: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PG'))),
  LC_ALL: 'C',
};
