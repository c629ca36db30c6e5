/**
 * Servers that share a PostgreSQL: their number, and notifications of work that any of them may take. Each server has one
 * session that listens (access-change.ts). With SQLite there is one server.
 */
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "./store.ts";

/** The application name of the sessions that listen: one for each server. */
export const SERVER_SESSION = "holt server";
export const WORK_CHANNEL = "holt_work";

/** At least 1. A server that was killed counts until the database closes its session, and a frozen one counts. */
export async function countServers(db: ReadDb): Promise<number> {
  if (db.dialect.notify === undefined) return 1;
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from pg_stat_activity where application_name = ${SERVER_SESSION} and datname = current_database()`.execute(
    db,
  );
  return Math.max(1, rows[0]?.n ?? 0);
}

/** Notifies all servers when this transaction commits. */
export async function notifyServers(db: WriteDb): Promise<void> {
  await db.dialect.notify?.(WORK_CHANNEL).execute(db);
}
