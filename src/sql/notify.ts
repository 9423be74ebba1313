/** NOTIFY and LISTEN, on the channel of a jobs table. Postgres delivers a notification when its transaction has committed. */
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { textArray } from '../database/parameters.js';
import { rows } from '../database/rows.js';
import type { Session } from '../database/session.js';

export interface Notification {
  readonly channel: string;
  readonly text: string;
}

/** The expression that sends it, as text: an empty one. */
export function notified({ channel, text }: Notification): SQL {
  return sql`pg_catalog.pg_notify(${channel}::text, ${text}::text)::text`;
}

export interface Notifications {
  readonly channel: string;
  readonly texts: readonly string[];
}

/** The expression that sends them all: how many there are. */
export function notifiedAll({ channel, texts }: Notifications): SQL {
  return sql`(select count(pg_catalog.pg_notify(${channel}::text, said.text)) from unnest(${textArray(texts)}) as said(text))`;
}

/** Sends it. Fails on a standby. */
export async function notify(db: Pick<Executor, 'execute'>, notification: Notification): Promise<void> {
  await rows(db, sql`select ${notified(notification)} as sent`);
}

/** Has the session hear of the channel for as long as it lasts. Fails on a standby. */
export async function listen(session: Session, channel: string): Promise<void> {
  await session.execute(sql`listen ${sql.identifier(channel)}`);
}
