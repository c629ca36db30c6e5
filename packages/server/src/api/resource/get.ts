/** Reads one resource by its uid. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { ROW } from "../../db/lookup.ts";
import { prepareEach } from "../../db/prepared.ts";
import type { ResourceTableName } from "../../db/schema.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { JsonText } from "../call/call.ts";
import type { Resource } from "./define.ts";

/** There are fewer tables of resources. */
const MAX_TABLES = 256;

const bodyIn = prepareEach<ResourceTableName, { uid: string }, { body: string }>(
  (table) => (db, param) => db.selectFrom(table).select("body").where("uid", "=", param("uid")).compile(),
  (table) => table,
  { capacity: MAX_TABLES, weight: ROW },
);

/** The stored body, unchanged. @throws NOT_FOUND */
export async function getBody<Desc extends DescMessage>(resource: Resource<Desc>, uid: string, db: ReadDb): Promise<JsonText<Desc>> {
  const row = await bodyIn(resource.table).first(db, { uid });
  if (row === undefined) throw notFound(resource.kind, uid);
  return new JsonText(resource.schema, row.body);
}

/** The resource as a message; undefined if it does not exist. */
export async function find<Desc extends DescMessage>(
  resource: Resource<Desc>,
  uid: string,
  db: ReadDb,
): Promise<MessageShape<Desc> | undefined> {
  const row = await bodyIn(resource.table).first(db, { uid });
  return row === undefined ? undefined : messageFromJson(resource.schema, row.body);
}

/** The resource, locked until the transaction ends, so that decisions based on it hold when it is written. @throws NOT_FOUND */
export async function findForUpdate<Desc extends DescMessage>(
  resource: Resource<Desc>,
  uid: string,
  db: WriteDb,
): Promise<MessageShape<Desc>> {
  const row = await db.dialect.forUpdate(db.selectFrom(resource.table).select("body").where("uid", "=", uid)).executeTakeFirst();
  if (row === undefined) throw notFound(resource.kind, uid);
  return messageFromJson(resource.schema, row.body);
}
