/** Checks the version, the settings and the schema of the database, and compares clocks. */
import type { Config } from "../../config.ts";
import { type DatabaseFacts, inspectDatabase } from "../../db/inspect.ts";
import { OWNERSHIP, remedyOf } from "../../db/remedy.ts";
import { migrations } from "../../domains.ts";
import { type Problem, problemsOf } from "./problem.ts";

const MIN_POSTGRES = 150_000;
/** Connections for administrators and for the checks of the servers. */
const SPARE_CONNECTIONS = 4;

export async function checkDatabase({ databaseUrl, dataDir, databasePoolSize, processes }: Config): Promise<Problem[]> {
  let facts: DatabaseFacts | undefined;
  try {
    facts = await inspectDatabase(databaseUrl, dataDir);
  } catch (error) {
    const remedy =
      databaseUrl === ""
        ? "restore a backup if the file is damaged"
        : (remedyOf(error) ?? "check HOLT_DATABASE_URL, and that PostgreSQL runs and admits this machine");
    return [{ check: "database", problem: `the database cannot be read: ${(error as Error).message}`, remedy }];
  }
  if (facts === undefined) return [];
  return [
    ...checkSchema(facts),
    ...(facts.kind === "sqlite" ? checkSqlite(facts) : checkPostgres(facts, processes * (2 * databasePoolSize + 1))),
    ...checkClock(facts),
  ];
}

function checkSchema({ schema, mayCreate }: DatabaseFacts): Problem[] {
  return problemsOf("database", [
    [
      schema > migrations.length,
      `a newer Holt has migrated the database (schema ${schema}, this program knows ${migrations.length})`,
      "install the newer version, or restore a backup",
    ],
    [
      schema === 0,
      "no server has used this database",
      "check HOLT_DATABASE_URL and HOLT_DATA_DIR, or start the server, which creates the tables",
    ],
    [!mayCreate, "the role of HOLT_DATABASE_URL may not create tables", OWNERSHIP],
  ]);
}

function checkSqlite({ settings }: DatabaseFacts): Problem[] {
  return problemsOf("database", [
    [settings.journal_mode !== "wal", `SQLite's journal mode is ${settings.journal_mode}`, "start the server, which sets it to wal"],
    [settings.auto_vacuum !== "2", "the database file cannot shrink", "stop the server and run holtd compact, once"],
  ]);
}

function checkPostgres({ version, settings }: DatabaseFacts, connections: number): Problem[] {
  const needed = connections + SPARE_CONNECTIONS;
  const change = (name: string, value: string) => `set ${name} = ${value} in postgresql.conf`;
  return problemsOf("database", [
    [Number(version) < MIN_POSTGRES, `PostgreSQL ${Math.floor(Number(version) / 10_000)} is too old`, "upgrade it to 15 or newer"],
    [settings.fsync === "off", "fsync is off: a crash damages the database", change("fsync", "on")],
    [settings.full_page_writes === "off", "full_page_writes is off: a crash damages the database", change("full_page_writes", "on")],
    [
      settings.synchronous_commit === "off",
      "synchronous_commit is off: a crash loses acknowledged writes",
      change("synchronous_commit", "on"),
    ],
    [settings.autovacuum === "off", "autovacuum is off: tables grow without an end", change("autovacuum", "on")],
    [
      settings.default_transaction_read_only === "on",
      "the database accepts no writes",
      "connect to the primary, or set default_transaction_read_only = off",
    ],
    [
      settings.data_checksums === "off",
      "data checksums are off: damaged pages are not noticed",
      "stop PostgreSQL and run pg_checksums --enable",
    ],
    [
      settings.server_encoding !== "UTF8",
      `the encoding is ${settings.server_encoding}`,
      "create the database with encoding UTF8 and import the data",
    ],
    [
      Number(settings.max_connections) < needed,
      `max_connections is ${settings.max_connections}, and each server needs up to ${needed}`,
      `set max_connections to at least ${needed} for each server, or lower HOLT_DATABASE_POOL_SIZE`,
    ],
  ]);
}

/** Tokens allow clocks to differ by a minute; a smaller difference already confuses who reads logs. */
export const MAX_CLOCK_DIFFERENCE_MS = 5_000;
/** Nobody ran this version before. */
const EARLIEST = new Date("2026-01-01T00:00:00Z");

const SYNCHRONIZE = "synchronize the clock, for example with chrony or systemd-timesyncd";

function checkClock({ time, lastEvent }: DatabaseFacts): Problem[] {
  const now = new Date();
  const differenceMs = time === undefined ? 0 : Math.abs(now.getTime() - time.getTime());
  return problemsOf("clock", [
    [now < EARLIEST, `the clock of this machine says ${now.toISOString()}`, SYNCHRONIZE],
    [
      differenceMs > MAX_CLOCK_DIFFERENCE_MS,
      `the clocks of this machine and of PostgreSQL differ by ${Math.round(differenceMs / 1000)} s`,
      `${SYNCHRONIZE}, on both machines`,
    ],
    [
      lastEvent !== undefined && lastEvent.getTime() - now.getTime() > MAX_CLOCK_DIFFERENCE_MS,
      `the latest event is of ${lastEvent?.toISOString()}, which is in the future of this machine's clock`,
      SYNCHRONIZE,
    ],
  ]);
}
