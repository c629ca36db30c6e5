/** Dumps a PostgreSQL database by COPY while servers write to it, and loads such a dump. Needs no programs of PostgreSQL. */

import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import { postgresHosts } from "./postgres-hosts.ts";

export interface DumpedTable {
  readonly name: string;
  readonly columns: readonly string[];
}

export interface PostgresDump {
  readonly tables: readonly DumpedTable[];
  /** Name of a sequence → its last value. */
  readonly sequences: Readonly<Record<string, string>>;
}

export interface PostgresReader {
  /** Runs a query on the state of the dump. */
  query<Row extends object>(text: string): Promise<Row[]>;
  tables(): Promise<DumpedTable[]>;
  /** The rows of a table in the text format of COPY. */
  rows(table: DumpedTable): Readable;
  /** To be read after the rows: sequences belong to no snapshot, and are never behind the rows. */
  sequences(): Promise<PostgresDump["sequences"]>;
}

/** Reads the database as it is at one moment, however long that takes. */
export async function readPostgres<T>(url: string, read: (reader: PostgresReader) => Promise<T>): Promise<T> {
  return withClient(url, async (client) => {
    await client.query("begin isolation level repeatable read read only");
    const query = async <Row extends object>(text: string): Promise<Row[]> => (await client.query<Row>(text)).rows;
    const result = await read({
      query,
      tables: () => query<DumpedTable>(TABLES),
      rows: ({ name, columns }) => client.query(copyTo(`copy ${quote(name)} (${columns.map(quote).join(", ")}) to stdout`)),
      sequences: async () => {
        const rows = await query<{ name: string; value: string }>(SEQUENCES);
        return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
      },
    });
    await client.query("commit");
    return result;
  });
}

/** Whether the database has tables of any program. */
export async function isEmptyPostgres(url: string): Promise<boolean> {
  return withClient(
    url,
    async (client) =>
      (await client.query("select 1 from pg_tables where schemaname = any (current_schemas(false)) limit 1")).rowCount === 0,
  );
}

/**
 * Replaces the content of the tables in one transaction. The tables must have the schema of the dump.
 * @param rowsOf the rows of a table in the text format of COPY
 */
export async function loadPostgres(url: string, dump: PostgresDump, rowsOf: (table: DumpedTable) => Promise<Readable>): Promise<void> {
  await withClient(url, async (client) => {
    await client.query("begin");
    // Tables refer to each other and to themselves, so no order of the rows would satisfy the constraints.
    const { rows: constraints } = await client.query<{ table: string; name: string; definition: string }>(FOREIGN_KEYS);
    for (const { table, name } of constraints) await client.query(`alter table ${table} drop constraint ${quote(name)}`);
    const known = await client.query<DumpedTable>(TABLES);
    await client.query(`truncate ${known.rows.map(({ name }) => quote(name)).join(", ")}`);
    for (const table of dump.tables) {
      const copy = client.query(copyFrom(`copy ${quote(table.name)} (${table.columns.map(quote).join(", ")}) from stdin`));
      await pipeline(await rowsOf(table), copy);
    }
    for (const { table, name, definition } of constraints)
      await client.query(`alter table ${table} add constraint ${quote(name)} ${definition}`);
    for (const [name, value] of Object.entries(dump.sequences))
      await client.query("select setval($1::regclass, $2::bigint)", [quote(name), value]);
    await client.query("commit");
    await client.query("analyze");
  });
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const connectionString = await postgresHosts(url).find();
  const client = new pg.Client({ connectionString, application_name: "holt backup", connectionTimeoutMillis: 10_000, keepAlive: true });
  // A lost connection also rejects the running query.
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("set statement_timeout = 0; set lock_timeout = '10s'; set idle_in_transaction_session_timeout = 0");
    return await use(client);
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    throw new Error(`cannot read or write the database: ${message || code}`, { cause: error });
  } finally {
    await client.end().catch(() => {});
  }
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const TABLES = `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace group by c.relname order by c.relname`;
const SEQUENCES = `select sequencename as name, last_value::text as value from pg_sequences
  where schemaname = current_schema() and last_value is not null order by sequencename`;
const FOREIGN_KEYS = `select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
  from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace order by conrelid, conname`;
