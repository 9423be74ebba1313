/** Workers that are killed. */
import { describe } from 'vitest';
import { scenario } from './scenario.js';
import { size } from './size.js';
import { type Stage, useStage } from './stage.js';

const createStage = useStage();

describe.each(['postgres.js', 'node-postgres'] as const)('on %s', (driver) => {
  const name = `a worker is killed ${size.kills} times in a row beside one that lives`;
  const act = async (stage: Stage) => {
    await stage.startWorker({ driver });
    for (let n = 0; n < size.kills; n++) {
      const doomed = await stage.startWorker({ driver });
      await stage.enqueue(size.jobs / size.kills, { ms: 300 });
      await stage.atWork(doomed);
      await stage.kill(doomed);
      stage.faultIsOver();
    }
    return size.kills;
  };
  scenario(name, createStage, act);
});
