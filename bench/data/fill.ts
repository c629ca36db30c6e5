/**
 * Fills an empty database with planned rows and creates the indexes last. The server's own code creates the schema and
 * the first organization.
 */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import pg from "pg";
import { assertBlobHome } from "../../packages/server/src/blobs/blob-home.ts";
import { folderHome } from "../../packages/server/src/blobs/folder-id.ts";
import { bootstrap } from "../../packages/server/src/bootstrap.ts";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { bindingRows, countRows, groupRows, identityRows, type Plan, planRows, type Row } from "./rows.ts";

/** Facts about a filled database that the measurements need. */
export interface Contents {
  readonly rows: number;
  readonly groups: number;
  readonly organization: string;
  readonly teams: readonly string[];
  readonly operators: readonly string[];
}

/** Writes batches of rows. The indexes of large tables do not exist until `finish`. */
export interface Sink {
  insert(table: string, columns: readonly string[], rows: readonly Row[]): Promise<void>;
  finish(): Promise<void>;
}

export interface Target {
  readonly url: string;
  readonly dataDir: string;
}

const ROWS_PER_BATCH = 2000;
/** Tables with many rows, whose indexes are created last. */
const LARGE_TABLES = `
  'group', 'identity', 'local_account', 'passkey', 'repo', 'tag', 'manifest', 'manifest_reference', 'repo_blob',
  'library_artifact', 'library_artifact_gram', 'library_version', 'library_file',
  'advisory', 'advisory_alias', 'advisory_term'
`;
/** The largest table. Its rows arrive in random order of the primary key, so the key is also created last. */
const SORTED_TABLE = "library_artifact_gram";
const SORTED_KEY = "gram, ecosystem, artifact_uid, name";

/** Fills an empty database. */
export async function fill(target: Target, rows: number): Promise<Contents> {
  const started = performance.now();
  const plan = planRows(await bootstrapDatabase(target), rows);
  const sink = await openSink(target);
  await insertAll(sink, "group", groupRows(plan));
  await insertAll(sink, "identity", identityRows(plan));
  const bindings = [...bindingRows(plan)];
  await insertAll(sink, "role_binding", bindings);
  await insertAll(sink, "resource_count", countRows(plan, bindings));
  await sink.finish();
  const contents = contentsOf(plan, rows);
  console.log(`  filled ${rows} identities and ${contents.groups} groups in ${Math.round((performance.now() - started) / 1000)} s`);
  return contents;
}

function contentsOf({ organization, groups, teams, operators }: Plan, rows: number): Contents {
  return { rows, groups: groups.length + 1, organization, teams, operators };
}

export function openSink({ url, dataDir }: Target): Promise<Sink> {
  return url === "" ? openSqliteSink(`${dataDir}/holt.db`) : openPostgresSink(url);
}

/** Creates the schema and the first organization. @returns the organization's uid */
export async function bootstrapDatabase({ url, dataDir }: Target): Promise<string> {
  await using store = await openDatabase({ url, dataDir, log: createLog("warn") });
  // A server refuses a database with blobs whose folder is not recorded.
  await assertBlobHome(store, folderHome(dataDir));
  await bootstrap({ store, orgName: "bench", issuer: "http://bench.invalid", now: new Date() });
  const { uid } = await store.reader.selectFrom("group").select("uid").executeTakeFirstOrThrow();
  return uid;
}

export async function insertAll(sink: Sink, table: string, rows: Iterable<Row>): Promise<void> {
  let batch: Row[] = [];
  for (const row of rows) {
    batch.push(row);
    if (batch.length < ROWS_PER_BATCH) continue;
    await sink.insert(table, Object.keys(row), batch);
    batch = [];
  }
  const [first] = batch;
  if (first !== undefined) await sink.insert(table, Object.keys(first), batch);
}

/** Counts are added to those of the rows that already exist after the first start. */
function insertSql(table: string, columns: readonly string[], source: string): string {
  const conflict =
    table === "resource_count"
      ? `on conflict (group_uid, kind, slot) do update
         set below = resource_count.below + excluded.below, direct = resource_count.direct + excluded.direct`
      : "";
  return `insert into "${table}" (${columns.join(", ")}) ${source} ${conflict}`;
}

/** Does not run ANALYZE, because a server does not run it either. */
async function openSqliteSink(path: string): Promise<Sink> {
  const database = new DatabaseSync(path);
  database.exec("pragma synchronous = off; pragma foreign_keys = off; pragma cache_size = -1000000");
  database.exec(`create temp table unsorted as select * from ${SORTED_TABLE} where 0`);
  const indexes = database
    .prepare(`select name, sql from sqlite_master where type = 'index' and sql is not null and tbl_name in (${LARGE_TABLES})`)
    .all() as { name: string; sql: string }[];
  for (const { name } of indexes) database.exec(`drop index ${name}`);
  return {
    async insert(table, columns, rows) {
      const target = table === SORTED_TABLE ? "unsorted" : table;
      const statement = database.prepare(insertSql(target, columns, `values (${columns.map(() => "?").join(", ")})`));
      database.exec("begin");
      for (const row of rows) statement.run(...(Object.values(row) as SQLInputValue[]));
      database.exec("commit");
    },
    async finish() {
      database.exec(`insert into ${SORTED_TABLE} select * from unsorted order by ${SORTED_KEY}`);
      for (const { sql } of indexes) database.exec(sql);
      database.exec("pragma wal_checkpoint(truncate)");
      database.close();
    },
  };
}

async function openPostgresSink(url: string): Promise<Sink> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // The references are valid by construction; checking a million of them takes minutes.
  await client.query("set session_replication_role = replica; set synchronous_commit = off; set maintenance_work_mem = '1GB'");
  const { rows: indexes } = await client.query<{ name: string; sql: string }>(
    `select indexname as name, indexdef as sql from pg_indexes where tablename in (${LARGE_TABLES}) and indexname not like '%_pkey'`,
  );
  for (const { name } of indexes) await client.query(`drop index "${name}"`);
  await client.query(`alter table ${SORTED_TABLE} drop constraint ${SORTED_TABLE}_pkey`);
  return {
    async insert(table, columns, rows) {
      const arrays = columns.map((column) => rows.map((row) => row[column]));
      const types = columns.map((column, i) => `$${i + 1}::${typeOf(rows[0]?.[column])}[]`);
      await client.query(insertSql(table, columns, `select * from unnest(${types.join(", ")})`), arrays);
    },
    async finish() {
      await client.query(`alter table ${SORTED_TABLE} add primary key (${SORTED_KEY})`);
      for (const { sql } of indexes) await client.query(sql);
      await client.query("vacuum (analyze)");
      await client.query("checkpoint");
      await client.end();
    },
  };
}

function typeOf(value: Row[string] | undefined): string {
  if (value instanceof Uint8Array) return "bytea";
  return typeof value === "number" ? "bigint" : "text";
}
