/** Opens filled databases, which are kept between runs, and fills those that do not exist yet. */
import { createHash } from "node:crypto";
import { globSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startPostgres, type TestPostgres } from "../../packages/server/test/harness/postgres.ts";
import { type Contents, fill, type Target } from "./fill.ts";

export type StoreName = "sqlite" | "postgres";

export interface Filled<T> {
  readonly name: StoreName;
  readonly contents: T;
  readonly target: Target;
}

export type FilledStore = Filled<Contents>;

/** The contents of a database and the code that generates them. */
export interface Dataset<T> {
  /** Identifies the rows, for the same schema and sources. */
  readonly key: string;
  /** Source files that determine the rows, in addition to the schema. */
  readonly sources: readonly string[];
  fill(target: Target): Promise<T>;
}

export const folder = process.env.BENCH_DATA_DIR ?? join(tmpdir(), "holt-bench");
/** Each version of the schema has its own database. */
const SCHEMA = "packages/server/src/*/migrations/*.ts";
let postgres: TestPostgres | undefined;

export function openFilled(name: StoreName, rows: number): Promise<FilledStore> {
  return openDataset(name, { key: `${rows}`, sources: ["bench/data/rows.ts"], fill: (target) => fill(target, rows) });
}

/** Fills the database unless an earlier run has filled it completely. */
export async function openDataset<T>(name: StoreName, dataset: Dataset<T>): Promise<Filled<T>> {
  const key = `${dataset.key}_${await digestOf([SCHEMA, ...dataset.sources])}`;
  const dataDir = join(folder, `${name}_${key}`);
  const record = join(dataDir, "contents.json");
  const saved = await readFile(record, "utf8").catch(() => undefined);
  if (saved === undefined) await rm(dataDir, { recursive: true, force: true });
  await mkdir(dataDir, { recursive: true });
  const target = { dataDir, url: await databaseOn(name, `bench_${key}`, { isNew: saved === undefined }) };
  if (saved !== undefined) return { name, target, contents: JSON.parse(saved) };
  const contents = await dataset.fill(target);
  await writeFile(record, JSON.stringify(contents));
  return { name, target, contents };
}

async function digestOf(patterns: readonly string[]): Promise<string> {
  const root = join(import.meta.dirname, "../..");
  const paths = patterns.flatMap((pattern) => globSync(pattern, { cwd: root })).sort();
  const sources = await Promise.all(paths.map((path) => readFile(join(root, path), "utf8")));
  return createHash("sha256").update(sources.join("\0")).digest("hex").slice(0, 8);
}

/**
 * The database of a benchmark on PostgreSQL. On SQLite, the data folder of a server is enough.
 * @param isNew drops an existing database of this name first
 * @returns the value of HOLT_DATABASE_URL
 */
export async function databaseOn(store: StoreName, name: string, { isNew = true } = {}): Promise<string> {
  if (store === "sqlite") return "";
  postgres ??= await startPostgres({ durable: true, dir: join(folder, "postgres") });
  if (isNew) await recreate(name, postgres.url);
  return postgres.url.replace(/\/postgres$/, `/${name}`);
}

async function recreate(name: string, connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(`drop database if exists ${name}`);
    await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
}

export async function closeStores(): Promise<void> {
  await postgres?.[Symbol.asyncDispose]();
}
