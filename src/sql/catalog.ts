/** What the database's catalogs say of a table, of the server and of the role that asks: all that the schema check reads. */
import { sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { rows, textOf } from '../database/rows.js';

export interface CatalogColumn {
  readonly name: string;
  /** As Postgres prints it: `timestamp with time zone`. */
  readonly type: string;
  readonly notNull: boolean;
  /** An insert may leave it out: it has a default, an identity, or is generated. */
  readonly filled: boolean;
  /** What the role may do with it. */
  readonly rights: readonly ('select' | 'insert' | 'update')[];
}

export interface CatalogIndex {
  readonly name: string;
  readonly unique: boolean;
  /** False after a `create index concurrently` that failed. */
  readonly valid: boolean;
  readonly predicate: string | null;
  /** `column` is null for an expression. */
  readonly keys: readonly {
    readonly column: string | null;
    readonly desc: boolean;
    readonly nullsFirst: boolean;
  }[];
}

export interface CatalogCheck {
  readonly name: string;
  /** False for one that was added `not valid`. */
  readonly valid: boolean;
  readonly expression: string;
}

export interface Catalog {
  readonly server: {
    /** 150018 is 15.18. */
    readonly version: number;
    readonly versionText: string;
    /** A standby: it takes no writes. */
    readonly recovery: boolean;
  };
  readonly role: string;
  /** Null where there is no such schema. */
  readonly schemaUsage: boolean | null;
  /** Other schemas with a table of this name that has a column `locked_by`. */
  readonly elsewhere: readonly string[];
  /** Null where there is no such table. */
  readonly table: CatalogTable | null;
}

export interface CatalogTable {
  /** `r` and `p` are tables. */
  readonly relkind: string;
  readonly columns: readonly CatalogColumn[];
  readonly indexes: readonly CatalogIndex[];
  readonly checks: readonly CatalogCheck[];
  readonly storage: { readonly [parameter: string]: string };
  readonly mayDelete: boolean;
  /** Whether row-level security decides what this role sees. */
  readonly rowSecurity: boolean;
  /** The commands for which a permissive policy applies to this role. */
  readonly policies: readonly ('select' | 'insert' | 'update' | 'delete')[];
}

/** Reads them in one statement, which needs no right but to connect. Writes nothing. */
export async function readCatalog(db: Executor, schema: string, name: string): Promise<Catalog> {
  // One JSON text, so that no driver's parsers come between. Catalogs are named with their schema: a search_path may
  // put others in front.
  const [row] = await rows(
    db,
    sql`
with ours as materialized (
  select c.oid, c.relkind, c.reloptions
  from   pg_catalog.pg_class c
  join   pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where  n.nspname = ${schema}::text and c.relname = ${name}::text
)
select json_build_object(
  'server', json_build_object(
    'version',     current_setting('server_version_num')::int,
    'versionText', current_setting('server_version'),
    'recovery',    pg_is_in_recovery()
  ),
  'role', current_user,
  'schemaUsage', (
    select has_schema_privilege(n.oid, 'usage') from pg_catalog.pg_namespace n where n.nspname = ${schema}::text
  ),
  'elsewhere', (
    select coalesce(json_agg(n.nspname order by n.nspname), '[]'::json)
    from   pg_catalog.pg_class c
    join   pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join   pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'locked_by' and not a.attisdropped
    where  c.relname = ${name}::text and c.relkind in ('r', 'p') and n.nspname <> ${schema}::text
  ),
  'table', (
    select json_build_object(
      'relkind', ours.relkind,
      'columns', (
        select coalesce(json_agg(json_build_object(
          'name',    a.attname,
          'type',    format_type(a.atttypid, a.atttypmod),
          'notNull', a.attnotnull,
          'filled',  a.atthasdef or a.attidentity <> '',
          'rights',  array(
            select r.name from unnest(array['select', 'insert', 'update']) as r(name)
            where  has_column_privilege(ours.oid, a.attnum, r.name)
          )
        ) order by a.attnum), '[]'::json)
        from   pg_catalog.pg_attribute a
        where  a.attrelid = ours.oid and a.attnum > 0 and not a.attisdropped
      ),
      'indexes', (
        select coalesce(json_agg(json_build_object(
          'name',      i.relname,
          'unique',    x.indisunique,
          'valid',     x.indisvalid,
          'predicate', pg_get_expr(x.indpred, x.indrelid),
          'keys', (
            select json_agg(json_build_object(
              'column',     a.attname,
              'desc',       x.indoption[k - 1] & 1 = 1,
              'nullsFirst', x.indoption[k - 1] & 2 = 2
            ) order by k)
            from   generate_series(1, x.indnkeyatts) as k
            left   join pg_catalog.pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[k - 1]
          )
        ) order by i.relname), '[]'::json)
        from   pg_catalog.pg_index x
        join   pg_catalog.pg_class i on i.oid = x.indexrelid
        where  x.indrelid = ours.oid
      ),
      'checks', (
        select coalesce(json_agg(json_build_object(
          'name',       c.conname,
          'valid',      c.convalidated,
          'expression', pg_get_expr(c.conbin, c.conrelid)
        ) order by c.conname), '[]'::json)
        from   pg_catalog.pg_constraint c
        where  c.conrelid = ours.oid and c.contype = 'c'
      ),
      'storage', (
        select coalesce(json_object_agg(o.option_name, o.option_value), '{}'::json)
        from   pg_options_to_table(ours.reloptions) as o
      ),
      'mayDelete',   has_table_privilege(ours.oid, 'delete'),
      'rowSecurity', row_security_active(ours.oid),
      'policies', array(
        select c.name
        from   (values ('select', 'r'), ('insert', 'a'), ('update', 'w'), ('delete', 'd')) as c(name, letter)
        where  exists (
          select
          from   pg_catalog.pg_policy p
          where  p.polrelid = ours.oid and p.polpermissive and p.polcmd::text in ('*', c.letter)
                 -- 0 is PUBLIC, of which nobody is a member
          and    exists (
            select from unnest(p.polroles) as r(oid) where case r.oid when 0 then true else pg_has_role(r.oid, 'usage') end
          )
        )
      )
    )
    from ours
  )
)::text as catalog`,
  );
  return JSON.parse(textOf(row?.['catalog']));
}
