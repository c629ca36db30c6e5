/** Migrates a database to the schema of this program, forward only. Each domain has its migrations in migrations/. */
import { sql } from "kysely";
import type { Log } from "../lib/log.ts";
import type { Dialect } from "./dialect.ts";
import type { Store, WriteDb } from "./store.ts";

export interface Migration {
  /** Position in the order of all migrations, counted from 1. */
  readonly version: number;
  /** The name in the table `schema_migration`. */
  readonly name: string;
  /** One SQL statement each. */
  statements(dialect: Dialect): readonly string[];
}

/** Sorts the migrations of all domains by version. @throws Error if a version is missing or duplicated */
export function orderMigrations(migrations: readonly Migration[]): readonly Migration[] {
  const ordered = [...migrations].sort((a, b) => a.version - b.version);
  for (const [index, { version, name }] of ordered.entries()) {
    if (version !== index + 1) throw new Error(`migration "${name}" has version ${version}, but ${index + 1} is next`);
  }
  return ordered;
}

/** Whether a server has begun to use the database. */
export async function isMigrated({ reader }: Store): Promise<boolean> {
  const { rows } = await sql<{ name: string }>`${sql.raw(reader.dialect.tableNames)}`.execute(reader);
  return rows.some(({ name }) => name === "schema_migration");
}

/**
 * Applies the missing migrations, each in its own transaction. Several servers may do so concurrently.
 * @throws Error if a newer program has migrated the database, or a new one cannot store all texts
 */
export async function migrate(store: Store, log: Log, migrations: readonly Migration[]): Promise<void> {
  let isNew = false;
  for (;;) {
    const version = await store.transaction((db) => applyNext(db, migrations), { hasNoTimeLimit: true });
    if (version === undefined) return;
    isNew ||= version === 1;
    // All migrations of an empty database take a moment, and need one line.
    if (!isNew) log.info({ version }, "migrated the database");
    else if (version === migrations.length) log.info({ version }, "created the tables of the database");
  }
}

/** The version that was applied; undefined if the schema is current. */
async function applyNext(db: WriteDb, migrations: readonly Migration[]): Promise<number | undefined> {
  const { types, migrationLock } = db.dialect;
  for (const statement of migrationLock) await sql.raw(statement).execute(db);
  await sql
    .raw(
      `create table if not exists schema_migration (version ${types.integer} not null primary key, name ${types.text} not null, applied_time ${types.text} not null)`,
    )
    .execute(db);
  const { rows } = await sql<{ version: number }>`select coalesce(max(version), 0) as version from schema_migration`.execute(db);
  const version = rows[0]?.version ?? 0;
  if (version > migrations.length) {
    throw new Error(
      `The data was written by a newer Holt (schema ${version}); this program knows ${migrations.length}. Start the newer version or restore a backup.`,
    );
  }
  if (version === 0) await assertUnicode(db);
  const next = migrations[version];
  if (next === undefined) return undefined;
  for (const statement of next.statements(db.dialect)) await sql.raw(statement).execute(db);
  await sql`insert into schema_migration (version, name, applied_time) values (${version + 1}, ${next.name}, ${new Date().toISOString()})`.execute(
    db,
  );
  return version + 1;
}

/** Other encodings refuse texts that callers send, or count their characters differently. */
async function assertUnicode(db: WriteDb): Promise<void> {
  const { rows } = await sql<{ encoding: string }>`${sql.raw(db.dialect.encoding)}`.execute(db);
  const encoding = rows[0]?.encoding ?? "";
  if (!/^UTF-?8$/.test(encoding)) throw new Error(`the database has the encoding ${encoding}; create it with the encoding UTF8`);
}
