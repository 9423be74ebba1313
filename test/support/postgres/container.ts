/**
 * A Postgres in a container, by Testcontainers, which also removes it when the runner is killed.
 */
import { serverVersion } from './admin.js';
import { freePort } from './free-port.js';
import { type Postgres, type Settings, settingArguments } from './postgres.js';

const DEFAULT_IMAGE = 'postgres:18-alpine';
const POSTGRES_PORT = 5432;
const SHUTDOWN_LIMIT_S = 10;

/**
 * Undefined where no container runtime answers.
 * The image is that of the environment variable `POSTGRES_IMAGE`, or `postgres:18-alpine`.
 * @throws Error when the runtime answers, but the image cannot be had or does not come up.
 */
export async function startContainer(settings: Settings = {}): Promise<Postgres | undefined> {
  // Half a second of loading that runs with DATABASE_URL need not pay.
  const { getContainerRuntimeClient } = await import('testcontainers');
  const answers = await getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
  if (!answers) return undefined;
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const container = await new PostgreSqlContainer(process.env.POSTGRES_IMAGE || DEFAULT_IMAGE)
    // A port of the runtime's own choice would be another one after a restart.
    .withExposedPorts({ container: POSTGRES_PORT, host: await freePort() })
    .withDatabase('postgres')
    .withCommand(['postgres', ...settingArguments(settings)])
    .start();
  const url = container.getConnectionUri();
  return {
    url,
    source: 'testcontainers',
    version: await serverVersion(url),
    stop: async () => {
      await container.stop();
    },
    // Without time to shut down the runtime kills the server, which is the crash that `immediate` asks for.
    restart: (mode = 'fast') => container.restart({ timeout: mode === 'fast' ? SHUTDOWN_LIMIT_S : 0 }),
  };
}
