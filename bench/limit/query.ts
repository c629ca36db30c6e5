/** Prepares the statement of a limit server, with the drivers and settings of Holt's readers. */
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import pg from "pg";
import type { Target } from "../data/fill.ts";
import type { Value } from "./plan.ts";

type Row = readonly unknown[];

export type Query = (values: readonly Value[]) => readonly Row[] | Promise<readonly Row[]>;

export function prepareQuery({ url, dataDir }: Target, sql: string): Query {
  return url === "" ? sqliteQuery(`${dataDir}/holt.db`, sql) : postgresQuery(url, sql);
}

function sqliteQuery(path: string, sql: string): Query {
  const database = new DatabaseSync(path, { readOnly: true });
  database.exec("pragma cache_size = -16384; pragma temp_store = memory");
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  return (values) => statement.all(...values) as unknown as SQLOutputValue[][];
}

function postgresQuery(connectionString: string, text: string): Query {
  const pool = new pg.Pool({ connectionString, onConnect: async (client) => void (await client.query(CUSTOM_PLANS)) });
  return async (values) => (await pool.query({ name: "limit", text, values: [...values], rowMode: "array" })).rows;
}

/** As in Holt: one plan would not fit all ranges of uids. */
const CUSTOM_PLANS = "set plan_cache_mode = force_custom_plan";

/** Continues at once if the rows are there already, as SQLite's are. */
export function then<T, U>(value: T | Promise<T>, next: (value: T) => U): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
