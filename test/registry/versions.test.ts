/** Versions of payloads, the steps between them, and aliases: what is refused at definition, and what a step makes. */
import { describe, expect, it } from 'vitest';
import { type JobType, job } from '../../src/registry/job.js';
import { assertRegistry, defineJobs, type JobTypes, kindOf } from '../../src/registry/registry.js';
import { upToDate } from '../../src/registry/upgrades.js';

interface V1 {
  user: string;
}
interface V2 {
  userId: number;
}
interface V3 {
  userId: number;
  locale: string;
}
const v3 = job<V3>({ version: 3 });
const toV3 = (old: V2): V3 => ({ ...old, locale: 'en' });
const toV2 = ({ user }: V1): V2 => ({ userId: Number(user) });
const mail = v3.upgradeFrom<V2>(2, toV3).upgradeFrom<V1>(1, toV2);

const refused = (text: string) =>
  expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(text) });
/** As plain JavaScript may call it. */
const step = (type: { upgradeFrom: unknown }, ...given: readonly unknown[]): unknown =>
  Reflect.apply(type.upgradeFrom as () => unknown, type, given);

describe('a kind', () => {
  it('is of version 1 without an option', () => {
    expect([job().version, job({ version: undefined }).version, v3.version]).toEqual([1, 1, 3]);
  });

  it.each([1, 32_767])('may be of version %d', (version) => {
    expect(job({ version }).version).toBe(version);
  });

  it.each([0, -1, 1.5, 32_768, Number.NaN, Number.POSITIVE_INFINITY, '2', null, 2n, true])(
    'is refused with version %s',
    (version) => {
      expect(() => job({ version: version as number })).toThrow(
        refused('Expected `version` to be a whole number from 1 to 32767, got '),
      );
    },
  );

  it('has its steps on a new object, the newest first, whatever comes after them', () => {
    expect(v3.upgrades).toEqual([]);
    const same = mail.queue('mail').alias('send_mail');
    expect(same).toMatchObject({ $queue: 'mail', $aliases: ['send_mail'], version: 3 });
    expect(same.upgrades.map(({ from }) => from)).toEqual([2, 1]);
    expect(same.options).toBe(v3.options);
    for (const part of [same, same.upgrades, same.upgrades[0], same.$aliases])
      expect(Object.isFrozen(part)).toBe(true);
  });
});

describe('a step is refused', () => {
  it.each([1, 3, 4, 0, -1, 1.5, Number.NaN, '2', null, undefined])(
    'from version %s, where that below 3 is due',
    (from) => {
      expect(() => step(v3, from, toV3)).toThrow(
        refused('Expected `upgradeFrom(…)` to be called with 2 here, the version below 3, got '),
      );
    },
  );

  it('from a version that has its step already, and below version 1', () => {
    const two = v3.upgradeFrom<V2>(2, toV3);
    expect(() => two.upgradeFrom<V2>(2, (old) => old)).toThrow(
      refused('to be called with 1 here, the version below 2, got 2.'),
    );
    expect(() => mail.upgradeFrom<V1>(0, (old) => old)).toThrow(
      refused('to be called once for each version, and none is below 1, got 0.'),
    );
  });

  it('where the kind is of version 1, since it has no older payloads', () => {
    for (const from of [1, 0, 2]) {
      expect(() => job<V2>().upgradeFrom<V2>(from, (old) => old)).toThrow(
        refused('to be called for a kind whose `version` is above 1, as in job({ version: 2 }), got '),
      );
    }
  });

  it.each([undefined, null, 'up', {}, 5])('without a function: %j', (upgrade) => {
    expect(() => step(v3, 2, upgrade)).toThrow(
      refused('Expected `upgradeFrom(2, …)` to be a function, got '),
    );
  });
});

describe('a payload', () => {
  it('of the kind’s own version is handed on as it is', () => {
    const payload = { userId: 7, locale: 'de' };
    expect(upToDate('mail', mail, payload, 3)).toBe(payload);
  });

  it('of an older version goes through every step from there', () => {
    expect(upToDate('mail', mail, { userId: 7 }, 2)).toEqual({ userId: 7, locale: 'en' });
    expect(upToDate('mail', mail, { user: '7' }, 1)).toEqual({ userId: 7, locale: 'en' });
  });

  it('stays as it is, though a step changes what it is given', () => {
    const changing = job<V2[]>({ version: 2 }).upgradeFrom<V2[]>(1, (old) => {
      old.push({ userId: 2 });
      if (old[0]) old[0].userId = 9;
      return old;
    });
    const payload = [{ userId: 1 }];
    expect(upToDate('many', changing, payload, 1)).toEqual([{ userId: 9 }, { userId: 2 }]);
    expect(payload).toEqual([{ userId: 1 }]);
  });

  it('of undefined is {}, as in an enqueue', () => {
    const none = job({ version: 2 }).upgradeFrom<V2>(1, () => {});
    expect(upToDate('none', none, { userId: 1 }, 1)).toEqual({});
  });

  it('that no step is known for says so, and what to do', () => {
    const two = v3.upgradeFrom<V2>(2, toV3);
    expect(() => upToDate('mail', two, { user: '7' }, 1)).toThrow(
      expect.objectContaining({
        code: 'PAYLOAD_NOT_UPGRADED',
        message:
          'The payload of "mail" has version 1, and the registry upgrades none below 2: ' +
          'add the steps from there with upgradeFrom(…), or remove such jobs.',
        data: { kind: 'mail', version: 1, newest: 3 },
      }),
    );
    expect(() => upToDate('mail', v3, {}, 2)).toThrow(/upgrades none below 3/);
  });

  it('of a newer release says so', () => {
    expect(() => upToDate('mail', mail, {}, 4)).toThrow(
      expect.objectContaining({
        code: 'PAYLOAD_NOT_UPGRADED',
        message: expect.stringContaining('has version 4, and the registry knows none above 3'),
        data: { kind: 'mail', version: 4, newest: 3 },
      }),
    );
  });

  const thrown = new TypeError('no such user');
  it.each<[string, () => unknown, string]>([
    ['throws', () => fail(thrown), 'TypeError: no such user'],
    ['throws null', () => fail(null), 'null'],
    ['gives a promise', async () => ({}), 'gave a promise'],
    ['gives a promise that rejects', () => Promise.reject(new Error('later')), 'gave a promise'],
    ['gives a revoked Proxy', revoked, 'TypeError'],
  ])('whose step %s is not upgraded, with the reason', (_, upgrade, reason) => {
    const type = {
      version: 3,
      upgrades: [
        { from: 2, upgrade: (old: unknown) => old },
        { from: 1, upgrade },
      ],
    };
    expect(() => upToDate('mail', type, { user: '7' }, 1)).toThrow(
      expect.objectContaining({
        code: 'PAYLOAD_NOT_UPGRADED',
        message: expect.stringMatching(
          new RegExp(`^The payload of "mail" could not be upgraded from version 1 to 2: .*${reason}.*\\.$`),
        ),
        data: { kind: 'mail', version: 1, newest: 3 },
      }),
    );
  });

  it('keeps what a step threw as the cause', () => {
    const type = v3.upgradeFrom<V2>(2, () => fail(thrown));
    expect(() => upToDate('mail', type, {}, 2)).toThrow(expect.objectContaining({ cause: thrown }));
  });
});

describe('an alias', () => {
  const names = (type: JobType<void, void, string, unknown, string>) => type.$aliases;

  it('is added to those before it, once', () => {
    expect(names(job().alias('a', 'b').alias('c', 'a'))).toEqual(['a', 'b', 'c']);
    expect(names(job().alias())).toEqual([]);
  });

  it.each(['', 'k'.repeat(129), 'a\0b', '\udc00', 5, undefined, null, ['a']])('is refused as %j', (name) => {
    expect(() => job().alias('ok', name as string)).toThrow(
      refused('Expected `alias` to be a text of 1 to 128 characters'),
    );
  });

  it('is refused where a kind has that name, be it its own', () => {
    expect(() => defineJobs({ mail: job(), post: job().alias('mail') })).toThrow(
      refused('"mail" is an alias of "post" and a kind itself: a name stands for one kind.'),
    );
    expect(() => defineJobs({ mail: job().alias('mail') })).toThrow(refused('"mail" is an alias of "mail"'));
  });

  it('is refused where another kind has it as well', () => {
    expect(() => defineJobs({ mail: job().alias('old'), post: job().alias('older', 'old') })).toThrow(
      refused('"old" is an alias of both "mail" and "post": a name stands for one kind.'),
    );
  });

  it.each(['constructor', '__proto__', 'toString'])('is no kind by accident: %s', (name) => {
    const kinds: JobTypes = defineJobs({ mail: job().alias(name) }).kinds;
    expect(kinds['mail']?.$aliases).toEqual([name]);
  });

  it('is no kind to enqueue, and the error names the one that is', () => {
    const registry = defineJobs({ sendMail: job().alias('send_mail') });
    expect(() => kindOf(registry, 'send_mail')).toThrow(
      'The registry has no kind "send_mail". It is an alias of "sendMail": use that.',
    );
  });
});

it('a registry made by hand is refused where it lacks them', () => {
  const type = { $queue: 'default', options: {}, upgrades: [], $aliases: [] };
  expect(() => assertRegistry({ kinds: { ping: type } })).not.toThrow();
  for (const lacking of [
    { ...type, upgrades: undefined },
    { ...type, $aliases: 'old' },
  ]) {
    expect(() => assertRegistry({ kinds: { ping: lacking } })).toThrow(refused('Expected `registry`'));
  }
});

function fail(error: unknown): never {
  throw error;
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
