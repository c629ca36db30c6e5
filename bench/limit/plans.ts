/** Makes the plans of limit servers that read rows of a filled database. */
import { rangeBelow } from "../../packages/server/src/lib/uid.ts";
import type { Filled, StoreName } from "../data/stores.ts";
import type { GetPlan, ListPlan, Value } from "./plan.ts";

type Database = Pick<Filled<unknown>, "name" | "target">;

export function getPlan({ name, target }: Database, table: string): GetPlan {
  return { kind: "get", target, sql: withPlaceholders(name, `select body from "${table}" where uid = ?`) };
}

/** Rows in their order: SQL after `from`, and its values. */
export interface Rows {
  readonly sql: string;
  readonly values: readonly Value[];
  /** The maintained count of these rows, and the group or repo where it is. */
  readonly counted: readonly [group: string, kind: string];
}

/** All rows of a table below a group, by name. */
export function rowsByName(name: StoreName, table: string, group: string): Rows {
  const { lower, upper } = rangeBelow(group);
  // Without statistics SQLite would seek by the uid and sort all rows.
  const uid = name === "sqlite" ? "+uid" : "uid";
  const sql = `"${table}" where ${uid} >= ? and ${uid} < ? order by name, uid`;
  return { sql, values: [lower, upper], counted: [group, table] };
}

/** @param answer a page of Holt, for its field names and page token */
export function listPlan({ name, target }: Database, { sql, values, counted }: Rows, pageSize: number, answer: string): ListPlan {
  const total = "select cast(sum(below) as bigint) from resource_count where group_uid = ? and kind = ?";
  const statement = withPlaceholders(name, `select body, (${total}) from ${sql} limit ${pageSize}`);
  return { kind: "list", target, sql: statement, values: [...counted, ...values], texts: textsOf(answer) };
}

function textsOf(answer: string): ListPlan["texts"] {
  const [, before = ""] = /^(\{"\w+":\[)/.exec(answer) ?? [];
  const [, between = "", after] = /(\],(?:"nextPageToken":"[^"]*",)?"totalCount":")\d+(",[^{[]*\})$/.exec(answer) ?? [];
  if (after === undefined) throw new Error(`not a page with a total: ${answer.slice(-500)}`);
  return [before, between, after];
}

function withPlaceholders(name: StoreName, sql: string): string {
  let number = 0;
  return name === "sqlite" ? sql : sql.replaceAll("?", () => `$${++number}`);
}
