/** Reads facts about a database without migrating or changing it, for `holtd doctor`. */
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { sqlitePath } from "./open.ts";

export interface DatabaseFacts {
  readonly kind: "sqlite" | "postgres";
  /** SQLite: such as 3.50.4. PostgreSQL: such as 170002. */
  readonly version: string;
  /** Number of migrations that were applied; 0 for a database that no server has used. */
  readonly schema: number;
  /** Whether a server may create its tables. */
  readonly mayCreate: boolean;
  /** Settings by name, as the database shows them. */
  readonly settings: Readonly<Record<string, string>>;
  /** The database's clock; undefined for SQLite, which uses this machine's. */
  readonly time: Date | undefined;
  /** Time of the latest event; undefined if there is none. */
  readonly lastEvent: Date | undefined;
}

const SQLITE_SETTINGS = ["journal_mode", "page_size", "auto_vacuum"] as const;
const POSTGRES_SETTINGS = [
  "autovacuum",
  "data_checksums",
  "default_transaction_read_only",
  "fsync",
  "full_page_writes",
  "max_connections",
  "server_encoding",
  "synchronous_commit",
] as const;
const SCHEMA = "select coalesce(max(version), 0) as version from schema_migration";
const MAY_CREATE =
  "select bool_or(has_schema_privilege(oid, 'create'))::text as allowed from pg_namespace where nspname = any(current_schemas(false))";
const LAST_EVENT = "select time from outbox order by seq desc limit 1";

/** Undefined if no server has used the data folder yet. @throws Error if the database cannot be read */
export async function inspectDatabase(url: string, dataDir: string): Promise<DatabaseFacts | undefined> {
  if (url !== "") return inspectPostgres(url);
  return existsSync(sqlitePath(dataDir)) ? inspectSqlite(sqlitePath(dataDir)) : undefined;
}

function inspectSqlite(path: string): DatabaseFacts {
  using database = new DatabaseSync(path, { readOnly: true, timeout: 2000 });
  const first = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0];
  const isUsed = first("select count(*) from sqlite_master where name = 'schema_migration'") === 1;
  return {
    kind: "sqlite",
    version: String(first("select sqlite_version()")),
    schema: isUsed ? Number(first(SCHEMA)) : 0,
    mayCreate: true,
    settings: Object.fromEntries(SQLITE_SETTINGS.map((name) => [name, String(first(`pragma ${name}`))])),
    time: undefined,
    lastEvent: isUsed ? dateFrom(first(LAST_EVENT)) : undefined,
  };
}

async function inspectPostgres(url: string): Promise<DatabaseFacts> {
  const { postgresHosts } = await import("./postgres-hosts.ts");
  return postgresHosts(url).withConnection(async (client) => {
    const rows = async (sql: string, values: unknown[] = []) => (await client.query(sql, values)).rows as Record<string, string>[];
    const found = await rows("select name, setting from pg_settings where name = any($1)", [POSTGRES_SETTINGS]);
    const [server] = await rows("select current_setting('server_version_num') as version, clock_timestamp()::text as time");
    const isUsed = (await rows("select to_regclass('schema_migration')::text as name"))[0]?.name != null;
    return {
      kind: "postgres",
      version: server?.version ?? "",
      schema: isUsed ? Number((await rows(SCHEMA))[0]?.version ?? 0) : 0,
      mayCreate: (await rows(MAY_CREATE))[0]?.allowed === "true",
      settings: Object.fromEntries(found.map(({ name, setting }) => [name, setting])) as Record<string, string>,
      time: dateFrom(server?.time),
      lastEvent: isUsed ? dateFrom((await rows(LAST_EVENT))[0]?.time) : undefined,
    };
  });
}

function dateFrom(text: unknown): Date | undefined {
  const time = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : new Date(time);
}
