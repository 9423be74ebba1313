/**
 * The options of `drizzle()` that an app may set beside its client, and its own tables as each generation wants them:
 * 0.45 names columns by its `casing` option and takes a `schema`, 1.0 has `snakeCase.table` and takes `relations`.
 */
import * as drizzle from 'drizzle-orm';
import { relations } from 'drizzle-orm';
import * as pgCore from 'drizzle-orm/pg-core';
import { queue } from './app.js';

const { jobs } = queue.tables;

/** Found where the generation has it, for what the types of 0.45 do not know. */
type Found = (...args: readonly unknown[]) => unknown;
function found(from: object, ...path: readonly string[]): Found | undefined {
  const [name = '', ...rest] = path;
  const value: unknown = Reflect.get(from, name);
  if (rest.length > 0) return typeof value === 'object' && value !== null ? found(value, ...rest) : undefined;
  return typeof value === 'function' ? (...args) => Reflect.apply(value, undefined, args) : undefined;
}

function receiptsTable(table: typeof pgCore.pgTable) {
  return table('receipts', {
    receiptId: pgCore.bigint({ mode: 'number' }).primaryKey(),
    greetJob: pgCore.bigint({ mode: 'number' }),
  });
}

/** The app's table, whose columns have no names of their own. */
const snake = found(pgCore, 'snakeCase', 'table');
const plain = receiptsTable(pgCore.pgTable);
// Of the same type: only the columns' names in SQL differ.
const snaked = snake ? receiptsTable(snake as typeof pgCore.pgTable) : plain;

const defineRelations = found(drizzle, 'defineRelations');
const relational = defineRelations
  ? {
      relations: defineRelations(
        { jobs, receipts: plain },
        (r: { one: { jobs: Found }; [table: string]: object }) => ({
          receipts: {
            job: r.one.jobs({
              from: Reflect.get(r['receipts'] ?? {}, 'greetJob'),
              to: Reflect.get(r['jobs'] ?? {}, 'id'),
            }),
          },
        }),
      ),
    }
  : {
      schema: {
        jobs,
        receipts: plain,
        receiptRelations: relations(plain, ({ one }) => ({
          job: one(jobs, { fields: [plain.greetJob], references: [jobs.id] }),
        })),
      },
    };

export interface OptionsCase {
  readonly options: object;
  readonly receipts: typeof plain;
  /** The names of the app's columns in SQL. */
  readonly columns: readonly [string, string];
  readonly relational?: true;
}

const camel = ['receiptId', 'greetJob'] as const;
const underscored = ['receipt_id', 'greet_job'] as const;

/** Each statement is one entry. */
export const logged: string[] = [];
const logger = { logQuery: (text: string) => void logged.push(text) };

export const optionsCases: readonly [string, OptionsCase][] = [
  ['casing: snake_case', { options: { casing: 'snake_case' }, receipts: snaked, columns: underscored }],
  ['casing: camelCase', { options: { casing: 'camelCase' }, receipts: plain, columns: camel }],
  ['a logger', { options: { logger }, receipts: plain, columns: camel }],
  ['relations', { options: relational, receipts: plain, columns: camel, relational: true }],
];
