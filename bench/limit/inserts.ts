/** Inserts the rows of a Create in durable commits that concurrent requests share. */
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { ancestry, newUid } from "../../packages/server/src/lib/uid.ts";
import type { CreatePlan, ModelRow, Value } from "./plan.ts";

/** Resolves with the new uid when the rows are durable. */
export type Insert = () => Promise<string>;

export function prepareInsert(plan: CreatePlan): Insert {
  return plan.target.url === "" ? sqliteInsert(plan) : postgresInsert(plan, plan.target.url);
}

/** Requests that arrived in the same turn of the event loop share a commit. */
function sqliteInsert({ target, parent, model, rows }: CreatePlan): Insert {
  const database = new DatabaseSync(`${target.dataDir}/holt.db`, { timeout: 10_000 });
  database.exec("pragma cache_size = -8192; pragma synchronous = full");
  const places = { next: () => "?", slot: "0" };
  const statements = [...rows.map((row) => insertSql(row, places)), countsSql(parent, places)].map((sql) => database.prepare(sql));
  const valuesOf = [...rows.map((row) => rowValues(row, model)), () => ancestors(parent)];
  let waiting: ((uid: string) => void)[] = [];
  const commit = () => {
    const group = waiting;
    waiting = [];
    const uids = group.map(() => newUid(parent));
    database.exec("begin immediate");
    for (const uid of uids) for (let i = 0; i < statements.length; i++) statements[i]!.run(...valuesOf[i]!(uid));
    database.exec("commit");
    for (let i = 0; i < group.length; i++) group[i]!(uids[i]!);
  };
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(commit);
    });
}

/** One statement inserts all rows. PostgreSQL shares the sync of commits that are concurrent. */
function postgresInsert({ parent, model, rows }: CreatePlan, connectionString: string): Insert {
  let number = 0;
  const places = { next: () => `$${++number}`, slot: "pg_backend_pid() % 64" };
  const parts = [...rows.map((row) => insertSql(row, places)), countsSql(parent, places)];
  const named = parts.slice(0, -1).map((sql, i) => `part_${i} as (${sql})`);
  const text = `with ${named.join(", ")} ${parts.at(-1)}`;
  const valuesOf = [...rows.map((row) => rowValues(row, model)), () => ancestors(parent)];
  const pool = new pg.Pool({ connectionString });
  return async () => {
    const uid = newUid(parent);
    await pool.query({ name: "limit", text, values: valuesOf.flatMap((values) => values(uid)) });
    return uid;
  };
}

/** The placeholders of a store. */
interface Places {
  next(): string;
  /** SQL of the slot of a count. */
  readonly slot: string;
}

function insertSql({ table, values }: ModelRow, places: Places): string {
  const columns = Object.keys(values);
  return `insert into "${table}" (${columns.join(", ")}) values (${columns.map(() => places.next()).join(", ")})`;
}

/** Counts a new group at its parent, at every group above, and at `/`. */
function countsSql(parent: string, places: Places): string {
  const rows = ancestors(parent).map((group) => `(${places.next()}, 'group', ${places.slot}, 1, ${group === parent ? 1 : 0})`);
  return `insert into resource_count (group_uid, kind, slot, below, direct) values ${rows.join(", ")}
    on conflict (group_uid, kind, slot) do update
    set below = resource_count.below + excluded.below, direct = resource_count.direct + excluded.direct`;
}

/** From the root downwards, so that writers cannot deadlock. */
function ancestors(parent: string): string[] {
  return ["/", ...ancestry(parent).reverse()];
}

/** The row's values with the new uid in place of the model's. */
function rowValues({ values }: ModelRow, model: string): (uid: string) => Value[] {
  const parts = Object.values(values).map((value) => (typeof value === "string" ? value.split(model) : value));
  return (uid) => parts.map((part) => (Array.isArray(part) ? part.join(uid) : part));
}
