/**
 * Creates, changes and deletes the groups of a directory. Through the mappings of the identity provider, their members
 * get rights at login.
 */
import { isDeepStrictEqual } from "node:util";
import type { ReadDb, WriteDb } from "../db/store.ts";
import { assertEtagMatches, type Directory, laterTime, newId, rethrowConstraint } from "./directory.ts";
import { applyMemberSteps, recordMemberChange } from "./group-members.ts";
import { type MemberStep, memberStepsFromPatch, parseMemberIds } from "./member-steps.ts";
import { normalize } from "./normalize.ts";
import { applyPatch } from "./patch.ts";
import { type PatchOperation, parsePatch } from "./patch-request.ts";
import { COLUMNS, type ScimRow } from "./resource.ts";
import { groupType, type Json } from "./schema.ts";
import { badRequest, notFound } from "./scim-error.ts";

export async function findGroup(db: ReadDb, idpUid: string, id: string): Promise<ScimRow> {
  const row = await selectGroup(db, idpUid, id).executeTakeFirst();
  if (row === undefined) throw notFound("group", id);
  return row;
}

export function createGroup({ provider, store, grants, clock }: Directory, request: Json): Promise<ScimRow> {
  const body = parseBody(request);
  const ids = parseMemberIds(readMembers(request));
  return store
    .transaction(async (db) => {
      const now = clock.now().toISOString();
      const row = { id: newId(), create_time: now, update_time: now, version: 1, body: JSON.stringify(body) };
      await db
        .insertInto("scim_group")
        .values({ ...row, ...columnsFromBody(body), idp_uid: provider.uid })
        .execute();
      db.audit.changes.push({ kind: "ScimGroup", uid: row.id, after: row.body });
      await recordMemberChange(db, grants, await applyMemberSteps(db, provider.uid, row.id, [{ kind: "add", ids }]));
      return row;
    })
    .catch(rethrowConstraint);
}

/** A replacement without members removes all members. */
export function replaceGroup(directory: Directory, id: string, request: Json, ifMatch: string | undefined): Promise<ScimRow> {
  const body = parseBody(request);
  const steps: MemberStep[] = [{ kind: "set", ids: parseMemberIds(readMembers(request)) }];
  return changeGroup(directory, { id, ifMatch }, () => body, steps);
}

export function patchGroup(directory: Directory, id: string, request: Json, ifMatch: string | undefined): Promise<ScimRow> {
  const operations = parsePatch(groupType, request);
  const isOfMembers = ({ target }: PatchOperation) => target.attribute?.name === "members";
  const steps = memberStepsFromPatch(operations.filter(isOfMembers));
  const others = operations.filter((operation) => !isOfMembers(operation));
  return changeGroup(directory, { id, ifMatch }, (before) => parseBody(applyPatch(before, others)), steps);
}

export async function deleteGroup({ provider, store, grants }: Directory, id: string, ifMatch: string | undefined): Promise<void> {
  await store.transaction(async (db) => {
    const row = await db.dialect.forDelete(selectGroup(db, provider.uid, id)).executeTakeFirst();
    if (row === undefined) throw notFound("group", id);
    assertEtagMatches(row, ifMatch);
    await recordMemberChange(db, grants, await applyMemberSteps(db, provider.uid, id, [{ kind: "set", ids: [] }]));
    await db.deleteFrom("scim_group").where("id", "=", id).execute();
    db.audit.changes.push({ kind: "ScimGroup", uid: id, before: row.body });
  });
}

function changeGroup(
  { provider, store, grants, clock }: Directory,
  { id, ifMatch }: { readonly id: string; readonly ifMatch: string | undefined },
  change: (before: Json) => Json,
  steps: readonly MemberStep[],
): Promise<ScimRow> {
  return store
    .transaction(async (db) => {
      const before = await db.dialect.forUpdate(selectGroup(db, provider.uid, id)).executeTakeFirst();
      if (before === undefined) throw notFound("group", id);
      assertEtagMatches(before, ifMatch);
      const known = JSON.parse(before.body) as Json;
      const body = change(known);
      const changed = await applyMemberSteps(db, provider.uid, id, steps);
      const isBodyChanged = !isDeepStrictEqual(body, known);
      if (!isBodyChanged && changed.size === 0) return before;
      const { create_time, update_time, version } = before;
      const row = {
        id,
        create_time,
        update_time: laterTime(update_time, clock.now()),
        version: version + 1,
        body: JSON.stringify(body),
      };
      await save(db, row, body);
      const after = changed.size === 0 ? row.body : JSON.stringify({ ...body, changedMembers: [...changed] });
      db.audit.changes.push({ kind: "ScimGroup", uid: id, before: before.body, after });
      // Mappings refer to a group by its name or external id.
      await (isBodyChanged ? grants.recordChange(db, "*") : recordMemberChange(db, grants, changed));
      return row;
    })
    .catch(rethrowConstraint);
}

async function save(db: WriteDb, { id, update_time, version, body: text }: ScimRow, body: Json): Promise<void> {
  await db
    .updateTable("scim_group")
    .set({ ...columnsFromBody(body), update_time, version, body: text })
    .where("id", "=", id)
    .execute();
}

function selectGroup(db: ReadDb, idpUid: string, id: string) {
  return db
    .selectFrom("scim_group")
    .select(COLUMNS)
    .where("id", "=", id.includes("\0") ? "" : id)
    .where("idp_uid", "=", idpUid);
}

function parseBody(request: Json): Json {
  const { members: _, ...body } = normalize(groupType, withoutMembers(request));
  const { displayName } = body;
  if (typeof displayName !== "string" || displayName.trim() === "") throw badRequest("invalidValue", "displayName must not be empty");
  return body;
}

function readMembers(request: Json): unknown {
  return Object.entries(request).find(([name]) => name.toLowerCase() === "members")?.[1];
}

function withoutMembers(request: Json): Json {
  return Object.fromEntries(Object.entries(request).filter(([name]) => name.toLowerCase() !== "members"));
}

function columnsFromBody(body: Json) {
  const { externalId, displayName } = body;
  const isGiven = typeof externalId === "string" && externalId !== "";
  return { external_id: isGiven ? externalId : null, display_name: String(displayName).toLowerCase() };
}
