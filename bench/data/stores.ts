/** The filled databases: where they are kept between runs, and how a server is told to use one. */
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

/** What a database is filled with. */
export interface Filling<T> {
  /** Of the same rows in the same schema. */
  readonly key: string;
  /** What decides about the rows, beside the schema. */
  readonly sources: readonly string[];
  fill(target: Target): Promise<T>;
}

export const folder = process.env.BENCH_DATA_DIR ?? join(tmpdir(), "holt-bench");
/** Another schema needs another database. */
const SCHEMA = "packages/server/src/db/migrations/*.ts";
let postgres: TestPostgres | undefined;

export function openFilled(name: StoreName, rows: number): Promise<FilledStore> {
  return open(name, { key: `${rows}`, sources: ["bench/data/rows.ts"], fill: (target) => fill(target, rows) });
}

/** Fills it where no earlier run did so to the end. */
export async function open<T>(name: StoreName, filling: Filling<T>): Promise<Filled<T>> {
  const key = `${filling.key}_${await digestOf([SCHEMA, ...filling.sources])}`;
  const dataDir = join(folder, `${name}_${key}`);
  const record = join(dataDir, "contents.json");
  const known = await readFile(record, "utf8").catch(() => undefined);
  if (known === undefined) await rm(dataDir, { recursive: true, force: true });
  await mkdir(dataDir, { recursive: true });
  const target = { dataDir, url: name === "postgres" ? await databaseFor(`bench_${key}`, known === undefined) : "" };
  if (known !== undefined) return { name, target, contents: JSON.parse(known) };
  const contents = await filling.fill(target);
  await writeFile(record, JSON.stringify(contents));
  return { name, target, contents };
}

async function digestOf(patterns: readonly string[]): Promise<string> {
  const root = join(import.meta.dirname, "../..");
  const paths = patterns.flatMap((pattern) => globSync(pattern, { cwd: root })).sort();
  const texts = await Promise.all(paths.map((path) => readFile(join(root, path), "utf8")));
  return createHash("sha256").update(texts.join("\0")).digest("hex").slice(0, 8);
}

/** @param anew whether to drop what is in it */
export async function databaseFor(name: string, anew: boolean): Promise<string> {
  postgres ??= await startPostgres({ durable: true, dir: join(folder, "postgres") });
  const { url } = postgres;
  if (anew) {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(`drop database if exists ${name}`);
      await client.query(`create database ${name}`);
    } finally {
      await client.end();
    }
  }
  return url.replace(/\/postgres$/, `/${name}`);
}

export async function closeStores(): Promise<void> {
  await postgres?.[Symbol.asyncDispose]();
}
