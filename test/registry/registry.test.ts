/** `defineJobs` and the look-up of a kind: names are data, so those of Object’s own properties are names like others. */
import { describe, expect, it } from 'vitest';
import { job } from '../../src/registry/job.js';
import { assertRegistry, defineJobs, type JobTypes, kindOf } from '../../src/registry/registry.js';

/** What plain JavaScript may give. */
const define = (kinds: unknown) => defineJobs(kinds as JobTypes);
const refused = (text: string) =>
  expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(text) });

/** Names that an object has without anybody naming them. */
const inherited = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'];

describe('defineJobs', () => {
  it('gives the kinds as they were made, frozen and apart from the caller’s object', () => {
    const kinds = { ping: job(), mail: job().queue('mail') };
    const registry = defineJobs(kinds);
    expect(registry.kinds).toEqual(kinds);
    expect(registry.kinds).not.toBe(kinds);
    expect([Object.isFrozen(registry), Object.isFrozen(registry.kinds)]).toEqual([true, true]);
  });

  it('takes an empty registry', () => {
    expect(defineJobs({}).kinds).toEqual({});
  });

  it.each(['k', 'k'.repeat(128), '😀'.repeat(128), 'a b', "'; drop table jobs;--", '1'])(
    'takes the name %j',
    (name) => {
      expect(Object.keys(define({ [name]: job() }).kinds)).toEqual([name]);
    },
  );

  it.each(['', 'k'.repeat(129), '😀'.repeat(129), 'a\0b', '\udc00'])('refuses the name %j', (name) => {
    expect(() => define({ [name]: job() })).toThrow(
      refused('Expected `kind` to be a text of 1 to 128 characters'),
    );
  });

  it.each([undefined, null, 'job', {}, () => {}, { ...job() }, Object.create(job()), job])(
    'refuses %j, which job(…) did not make',
    (type) => {
      expect(() => define({ ok: job(), odd: type })).toThrow(
        refused('Expected `kinds["odd"]` to be made with job(…)'),
      );
    },
  );

  it.each([undefined, null, 5, 'kinds'])('refuses %j in place of kinds', (kinds) => {
    expect(() => define(kinds)).toThrow(refused('Expected `defineJobs(…)` to be an object of kinds'));
  });
});

describe('the kind of a name', () => {
  const registry = defineJobs({ sendReceipt: job(), reindex: job() });

  it('is the one that was defined', () => {
    expect(kindOf(registry, 'reindex')).toBe(registry.kinds.reindex);
  });

  it.each(inherited)('is not found by accident for %j', (name) => {
    expect(() => kindOf(registry, name)).toThrow(
      expect.objectContaining({ code: 'UNKNOWN_KIND', data: { kind: name } }),
    );
  });

  it.each(inherited)('is found for %j where that was defined', (name) => {
    const type = job();
    const odd = define(Object.fromEntries([[name, type]]));
    expect(Object.keys(odd.kinds)).toEqual([name]);
    expect(kindOf(odd, name)).toBe(type);
  });

  it('is guessed where a name is near', () => {
    expect(() => kindOf(registry, 'sendReciept')).toThrow(
      expect.objectContaining({
        code: 'UNKNOWN_KIND',
        message:
          'The registry has no kind "sendReciept". Did you mean "sendReceipt"? Name it in defineJobs(…).',
        data: { kind: 'sendReciept' },
      }),
    );
    expect(() => kindOf(registry, 'x')).toThrow('The registry has no kind "x". Name it in defineJobs(…).');
  });

  it.each([undefined, null, 5, {}, Symbol('reindex'), ['reindex']])(
    'is unknown for %s, which is no text',
    (name) => {
      expect(() => kindOf(registry, name)).toThrow(expect.objectContaining({ code: 'UNKNOWN_KIND' }));
    },
  );
});

describe('what is taken as a registry', () => {
  it('is what defineJobs gave, also of another copy of the module', () => {
    const registry = defineJobs({ ping: job() });
    const copy = {
      kinds: { ping: { $queue: 'default', $aliases: [], options: {}, upgrades: [], queue: () => {} } },
    };
    for (const given of [registry, copy, defineJobs({})]) expect(() => assertRegistry(given)).not.toThrow();
  });

  it.each([
    [undefined],
    [null],
    ['registry'],
    [{}],
    [{ kinds: null }],
    [{ kinds: 'ping' }],
    [{ kinds: { ping: null } }],
    [{ kinds: { ping: {} } }],
    [{ kinds: { ping: { $queue: 5, options: {} } } }],
    [{ kinds: { ping: { $queue: 'default', options: null } } }],
    [{ ping: job() }],
  ])('is not %j', (given) => {
    expect(() => assertRegistry(given)).toThrow(refused('Expected `registry` to be what defineJobs(…) gave'));
  });
});
