/** Makes the plan of a limit server that creates groups, and the tables that it writes to. */
import { CompiledQuery } from "kysely";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import type { Store, WriteDb } from "../../packages/server/src/db/store.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import type { Filled } from "../data/stores.ts";
import type { CreatePlan, ModelRow, Value } from "./plan.ts";

/** Tables like the outbox and the audit log, because Holt works on the rows of its own. */
const COPIES = { outbox: "limit_outbox", audit_entry: "limit_audit_entry" } as const;

export interface PreparedCreate extends AsyncDisposable {
  readonly plan: CreatePlan;
}

/** @param body the model: a group that Holt has just created below `parent` */
export async function prepareCreate({ target }: Filled<unknown>, parent: string, body: string): Promise<PreparedCreate> {
  await using cleanUp = new AsyncDisposableStack();
  const store = cleanUp.use(await openDatabase({ ...target, log: createLog("warn") }));
  await dropCopies(store);
  for (const [table, copy] of Object.entries(COPIES)) await copyTable(store, table, copy);
  cleanUp.defer(() => dropCopies(store));
  const model = (JSON.parse(body) as { uid: string }).uid;
  const plan: CreatePlan = { kind: "create", target, parent, model, rows: await modelRows(store, model), body };
  const owned = cleanUp.move();
  return { plan, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function modelRows({ reader }: Store, uid: string): Promise<ModelRow[]> {
  const columns = ["uid", "parent", "name", "create_time", "update_time", "verified", "body"] as const;
  const group = await reader.selectFrom("group").select(columns).where("uid", "=", uid).executeTakeFirstOrThrow();
  const event = await reader.selectFrom("outbox").selectAll().where("group_uid", "=", uid).executeTakeFirstOrThrow();
  const { seq: _seq, position: _position, context_id: _context, ...outbox } = event;
  return [
    { table: "group", values: group },
    { table: COPIES.outbox, values: outbox as Readonly<Record<string, Value>> },
    // The entry may be sealed already. The event has the same actor and body.
    { table: COPIES.audit_entry, values: { content: event.data } },
  ];
}

async function copyTable(store: Store, table: string, copy: string): Promise<void> {
  const { dialect } = store;
  if (dialect.name === "postgres") return run(store, [`create table ${copy} (like ${table} including all)`]);
  const { rows } = await store.reader
    .getExecutor()
    .executeQuery<{ sql: string }>(CompiledQuery.raw("select sql from sqlite_master where tbl_name = ? and sql is not null", [table]));
  // `create index name on "table"` and `create table table` get new names.
  const renamed = rows.map(({ sql }, i) => {
    return sql
      .replace(/ index \w+ on "?\w+"?/i, ` index ${copy}_${i} on ${copy}`)
      .replace(/^create table "?\w+"?/i, `create table ${copy}`);
  });
  await run(store, renamed);
}

async function dropCopies(store: Store): Promise<void> {
  await run(
    store,
    Object.values(COPIES).map((copy) => `drop table if exists ${copy}`),
  );
}

async function run(store: Store, statements: readonly string[]): Promise<void> {
  await store.transaction(async (db: WriteDb) => {
    for (const statement of statements) await db.getExecutor().executeQuery(CompiledQuery.raw(statement));
  });
}
