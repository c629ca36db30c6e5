/** Writes resources: the row, its indexed columns and the counts above it, always together and always in the call's transaction. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { assertRowAllowed } from "../../db/organization-limits.ts";
import { prepare } from "../../db/prepared.ts";
import { preparedInsert } from "../../db/prepared-insert.ts";
import { appendToCount, appendToCounts } from "../../db/resource-count.ts";
import type { WriteDb } from "../../db/store.ts";
import { ConstraintError } from "../../db/transaction.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { alreadyExists, invalidArgument, notFound } from "../../lib/errors.ts";
import { isInRoot, isUid, newUid, parentOf } from "../../lib/uid.ts";
import { JsonText, type WriteCall } from "../call/call.ts";
import { countedUid, type Resource } from "./define.ts";
import { applyMask, type Mask, writableFields } from "./field-mask.ts";
import { findForUpdate } from "./get.ts";

/** Bodies are read by the hundred in a list. In characters, which is about bytes. */
const MAX_BODY = 64 * 1024;

/** The fields that the engine fills, where the message has them. */
interface Managed {
  uid: string;
  name?: string;
  createTime?: unknown;
  updateTime?: unknown;
}

/** The moment and the transaction of a write: a call, or the server's own work. */
export type WriteContext = Pick<WriteCall, "now" | "db">;

/** A copy of the fields that a caller may set. @throws INVALID_ARGUMENT, from the resource's check */
export function prepareCreate<Desc extends DescMessage>(
  resource: Resource<Desc>,
  given: MessageShape<Desc> | undefined,
  now: Date,
): MessageShape<Desc> {
  // The request's validator has put an empty message where the caller sent none.
  const message = writableFields(resource.schema, given as MessageShape<Desc>);
  resource.check?.(message, now);
  return message;
}

/** Stores `message` as new under `parent`. @throws NOT_FOUND if the group `parent` does not exist */
export async function create<Desc extends DescMessage>(
  resource: Resource<Desc>,
  parent: string,
  message: MessageShape<Desc>,
  context: WriteContext,
): Promise<JsonText<Desc>> {
  const uid = resource.hasUidOfGroup ? parent : newUidBelow(parent);
  if (parent !== "") await assertGroupExists(parent, context.db);
  return insert(resource, uid, message, context);
}

/** @throws INVALID_ARGUMENT below the deepest level */
export function newUidBelow(parent: string): string {
  const uid = newUid(parent);
  if (!isUid(uid)) throw invalidArgument("parent", "the parent is at the deepest of the 64 levels that a tree can have");
  return uid;
}

export async function assertGroupExists(uid: string, db: WriteDb): Promise<void> {
  if ((await keptGroup.first(db, { uid })) === undefined) throw notFound("Group", uid);
}

const keptGroup = prepare<{ uid: string }, { uid: string }>((db, param) =>
  db.dialect.forKeyShare(db.selectFrom("group").select("uid").where("uid", "=", param("uid"))).compile(),
);

/**
 * Stores `message` as new under `uid`; sets its uid and times. The caller knows that the parent exists. On PostgreSQL a
 * later statement or the commit fails if the name is taken.
 */
export async function insert<Desc extends DescMessage>(
  resource: Resource<Desc>,
  uid: string,
  message: MessageShape<Desc>,
  { now, db }: WriteContext,
): Promise<JsonText<Desc>> {
  const managed = message as unknown as Managed;
  managed.uid = uid;
  setTime(resource, managed, "createTime", now);
  setTime(resource, managed, "updateTime", now);
  const body = encodeBounded(resource, message);
  const time = now.toISOString();
  const parent = isInRoot(uid) ? null : parentOf(uid);
  const row = { uid, parent, name: managed.name ?? "", create_time: time, update_time: time, body, ...resource.columns(message) };
  // The columns of the one table that `resource` names: more than the type of a union of tables can say.
  await db.append(preparedInsert(db, resource.table, row as never), (thrown) => nameTaken(thrown, resource, message));
  await appendToCount(db, resource.table, countedUid(resource, uid), 1);
  await assertRowAllowed(db, resource.table, uid);
  db.audit.changes.push({ kind: resource.kind, uid, schema: resource.schema, after: body });
  return new JsonText(resource.schema, body, message);
}

function encodeBounded<Desc extends DescMessage>(resource: Resource<Desc>, message: MessageShape<Desc>): string {
  const body = resource.encode(message);
  if (body.length > MAX_BODY) {
    const limit = `a ${resource.kind} must be smaller than ${MAX_BODY / 1024} KiB as JSON`;
    throw invalidArgument("", `${limit}; this one has ${body.length} characters`);
  }
  return body;
}

function setTime(resource: Resource, managed: Managed, field: "createTime" | "updateTime", now: Date): void {
  if (resource.schema.field[field] !== undefined) managed[field] = timestampFromDate(now);
}

/** Whether a unique index of the store refused the write. */
export function isDuplicate(thrown: unknown): thrown is ConstraintError {
  return thrown instanceof ConstraintError && thrown.kind === "unique";
}

/** The error names no uid: the one in the way can no longer be read in this transaction, and that of `message` is another resource. */
function nameTaken<Desc extends DescMessage>(thrown: unknown, resource: Resource<Desc>, message: MessageShape<Desc>): unknown {
  if (!isDuplicate(thrown)) return thrown;
  if (resource.nameTaken !== undefined) return resource.nameTaken(resource.hasUidOfGroup ? message : { ...message, uid: "" });
  const { name = "" } = message as unknown as Managed;
  return thrown.columns.includes("name") ? alreadyExists(resource.kind, "", `the group has a ${resource.kind} "${name}"`) : thrown;
}

/** A stored resource and what an update makes of it. The handler checks its own rules between `prepareUpdate` and `save`. */
export interface Update<Desc extends DescMessage> {
  readonly current: MessageShape<Desc>;
  readonly next: MessageShape<Desc>;
}

/** Locks the resource that `incoming` names and applies the mask to a copy. @throws NOT_FOUND; INVALID_ARGUMENT, also from the check */
export async function prepareUpdate<Desc extends DescMessage>(
  resource: Resource<Desc>,
  incoming: MessageShape<Desc> | undefined,
  mask: Mask | undefined,
  { now, db }: WriteContext,
): Promise<Update<Desc>> {
  const message = incoming as MessageShape<Desc>;
  const current = await findForUpdate(resource, (message as unknown as Managed).uid, db);
  const next = applyMask(resource.schema, current, message, mask);
  resource.check?.(next, now, current);
  return { current, next };
}

/** Stores `next`. If it equals the stored resource, nothing is written, no time changes and the call counts as unchanged. */
export async function save<Desc extends DescMessage>(
  resource: Resource<Desc>,
  { current, next }: Update<Desc>,
  call: WriteContext & { changed: boolean },
): Promise<JsonText<Desc>> {
  const before = resource.encode(current);
  if (resource.encode(next) === before) {
    call.changed = false;
    return new JsonText(resource.schema, before, current);
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
    .execute()
    .catch((thrown) => {
      throw nameTaken(thrown, resource, next);
    });
  call.db.audit.changes.push({ kind: resource.kind, uid: managed.uid, schema: resource.schema, before, after: body });
  return new JsonText(resource.schema, body, next);
}

/** Deletes the row. @throws NOT_FOUND */
export async function remove(resource: Resource, uid: string, db: WriteDb): Promise<void> {
  if (!(await removeIfThere(resource, uid, db))) throw notFound(resource.kind, uid);
}

/** @returns whether there was a row */
export async function removeIfThere(resource: Resource, uid: string, db: WriteDb): Promise<boolean> {
  const deleted = await db.deleteFrom(resource.table).where("uid", "=", uid).returning("body").executeTakeFirst();
  if (deleted === undefined) return false;
  db.audit.changes.push({ kind: resource.kind, uid, schema: resource.schema, before: deleted.body });
  await appendToCount(db, resource.table, countedUid(resource, uid), -1);
  return true;
}

/** Notes rows that a statement of its own has deleted for the audit entry, and takes them from the counts above them. */
export async function recordRemoved(
  { table, schema }: Pick<Resource, "table" | "schema">,
  rows: readonly { readonly uid: string; readonly body: string }[],
  db: WriteDb,
): Promise<void> {
  for (const { uid, body } of rows) db.audit.changes.push({ kind: schema.name, uid, schema, before: body });
  await appendToCounts(
    db,
    table,
    rows.map(({ uid }) => uid),
    -1,
  );
}
