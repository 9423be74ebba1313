/** NOTIFY and LISTEN, on the channel of a jobs table. Postgres delivers a notification when its transaction has committed. */
import { type SQL, sql } from 'drizzle-orm';
import type { Executor } from '../database/executor.js';
import { textArray } from '../database/parameters.js';
import { rows } from '../database/rows.js';
import type { Session } from '../database/session.js';
import { noticeText } from '../words/notice.js';

export interface Notifications {
  readonly channel: string;
  /** One at least. */
  readonly texts: readonly string[];
}

/** That of one job, whose id the statement knows that makes it. */
export interface JobNotification {
  readonly channel: string;
  /** What follows the id in the line. */
  readonly tail: string;
}

/** The expression that sends a few, as text: an empty one. */
export function notified({ channel, texts }: Notifications): SQL {
  return sql.join(
    texts.map((text) => sql`pg_catalog.pg_notify(${channel}::text, ${text}::text)::text`),
    sql` operator(pg_catalog.||) `,
  );
}

/** The same of one job; `id` is that of its row. */
export function notifiedOf(notifications: Notifications | JobNotification, id: SQL): SQL {
  if ('texts' in notifications) return notified(notifications);
  const { channel, tail } = notifications;
  return sql`pg_catalog.pg_notify(${channel}::text, pg_catalog.concat('job ', ${id}, ' ', ${tail}::text))::text`;
}

/** The expression that sends however many, by one text: how many there are. */
export function notifiedAll({ channel, texts }: Notifications): SQL {
  return sql`(select count(pg_catalog.pg_notify(${channel}::text, said.text)) from unnest(${textArray(texts)}) as said(text))`;
}

/** The aggregate that tells of pauses, over the rows that have changed: how many they are. Postgres sends one of the same. */
export function pausesNotified(channel: string): SQL {
  const text = noticeText({ type: 'pauses' });
  return sql`count(pg_catalog.pg_notify(${channel}::text, ${text}::text))`;
}

/** Sends them. Fails on a standby. */
export async function notify(db: Pick<Executor, 'execute'>, notifications: Notifications): Promise<void> {
  await rows(db, sql`select ${notified(notifications)} as sent`);
}

/** Has the session hear of the channel for as long as it lasts. Fails on a standby. */
export async function listen(session: Session, channel: string): Promise<void> {
  await session.execute(sql`listen ${sql.identifier(channel)}`);
}
