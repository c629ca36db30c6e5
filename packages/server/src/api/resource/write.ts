/** Writes resources: the row, its indexed columns and the counts above it, always together and always in the call's transaction. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { appendToCount } from "../../db/resource-count.ts";
import type { WriteDb } from "../../db/store.ts";
import { ConstraintError } from "../../db/transaction.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { invalidArgument, notFound } from "../../lib/errors.ts";
import { isInRoot, isUid, newUid, parentOf } from "../../lib/uid.ts";
import { JsonText, type WriteCall } from "../call/call.ts";
import { placeOf, type Resource } from "./define.ts";
import { applyMask, type Mask } from "./field-mask.ts";
import { findForUpdate } from "./get.ts";

/** The fields that the engine fills, where the message has them. */
interface Managed {
  uid: string;
  name?: string;
  createTime?: unknown;
  updateTime?: unknown;
}

/** Makes `resource` under `parent` with a new uid. @throws NOT_FOUND of the group where `parent` is none */
export async function create<Desc extends DescMessage>(
  resource: Resource<Desc>,
  parent: string,
  message: MessageShape<Desc>,
  call: WriteCall,
): Promise<JsonText<Desc>> {
  const uid = newUid(parent);
  if (!isUid(uid)) throw invalidArgument("parent", "the tree is as deep as it can be here: 64 levels");
  if (parent !== "") await assertGroupExists(parent, call.db);
  return insert(resource, uid, message, call.now, call.db);
}

export async function assertGroupExists(uid: string, db: WriteDb): Promise<void> {
  const row = await db.dialect.forKeyShare(db.selectFrom("group").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (row === undefined) throw notFound("Group", uid);
}

/** Stores `message` as new under `uid`; sets its uid and times. */
export async function insert<Desc extends DescMessage>(
  resource: Resource<Desc>,
  uid: string,
  message: MessageShape<Desc>,
  now: Date,
  db: WriteDb,
): Promise<JsonText<Desc>> {
  const managed = message as unknown as Managed;
  managed.uid = uid;
  setTime(resource, managed, "createTime", now);
  setTime(resource, managed, "updateTime", now);
  const body = encodeBounded(resource, message);
  const time = now.toISOString();
  const parent = isInRoot(uid) ? null : parentOf(uid);
  const row = { uid, parent, name: managed.name ?? "", create_time: time, update_time: time, body, ...resource.columns(message) };
  await db
    .insertInto(resource.table)
    // The columns of the one table that `resource` names: more than the type of a union of tables can say.
    .values(row as never)
    .execute();
  await appendToCount(db, resource.table, placeOf(resource, uid), 1);
  return new JsonText(resource.schema, body);
}

/** Bodies are read by the hundred in a list. In characters, which is about bytes. */
const MAX_BODY = 64 * 1024;

function encodeBounded<Desc extends DescMessage>(resource: Resource<Desc>, message: MessageShape<Desc>): string {
  const body = resource.encode(message);
  if (body.length > MAX_BODY)
    throw invalidArgument(
      "",
      `a ${resource.kind} must be smaller than ${MAX_BODY / 1024} KiB as JSON; this one has ${body.length} characters`,
    );
  return body;
}

function setTime(resource: Resource, managed: Managed, field: "createTime" | "updateTime", now: Date): void {
  if (resource.schema.field[field] !== undefined) managed[field] = timestampFromDate(now);
}

/** A stored resource and what an update makes of it, between which the handler checks its rules. */
export interface Update<Desc extends DescMessage> {
  readonly current: MessageShape<Desc>;
  readonly next: MessageShape<Desc>;
}

/** Locks the resource that `incoming` names and applies the mask to a copy. @throws NOT_FOUND; INVALID_ARGUMENT on update_mask */
export async function prepareUpdate<Desc extends DescMessage>(
  resource: Resource<Desc>,
  incoming: MessageShape<Desc>,
  mask: Mask | undefined,
  db: WriteDb,
): Promise<Update<Desc>> {
  const { uid } = incoming as unknown as Managed;
  const current = await findForUpdate(resource, uid, db);
  return { current, next: applyMask(resource.schema, current, incoming, mask) };
}

/** Stores `next`. Where it equals what is stored, nothing is written, no time moves and the call counts as unchanged. */
export async function save<Desc extends DescMessage>(
  resource: Resource<Desc>,
  { current, next }: Update<Desc>,
  call: WriteCall,
): Promise<JsonText<Desc>> {
  const before = resource.encode(current);
  if (resource.encode(next) === before) {
    call.changed = false;
    return new JsonText(resource.schema, before);
  }
  const managed = next as unknown as Managed;
  setTime(resource, managed, "updateTime", call.now);
  const body = encodeBounded(resource, next);
  const columns = {
    ...(managed.name === undefined ? {} : { name: managed.name }),
    update_time: call.now.toISOString(),
    body,
    ...resource.columns(next),
  };
  await call.db
    .updateTable(resource.table)
    .set(columns as never)
    .where("uid", "=", managed.uid)
    .execute();
  return new JsonText(resource.schema, body);
}

/** Deletes the row. @throws NOT_FOUND */
export async function remove(resource: Resource, uid: string, db: WriteDb): Promise<void> {
  if (!(await removeIfThere(resource, uid, db))) throw notFound(resource.kind, uid);
}

/** @returns whether there was a row */
export async function removeIfThere(resource: Resource, uid: string, db: WriteDb): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom(resource.table).where("uid", "=", uid).executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) return false;
  await appendToCount(db, resource.table, placeOf(resource, uid), -1);
  return true;
}

/** Whether `thrown` is the store's word that a unique index (of that name) already holds the value. */
export function isDuplicate(thrown: unknown): boolean {
  return thrown instanceof ConstraintError && thrown.kind === "unique";
}
