/** Groups of a directory. Their members count at logins and, through the mappings of the identity provider, in rights. */
import { isDeepStrictEqual } from "node:util";
import type { ReadDb, WriteDb } from "../db/store.ts";
import { assertMatches, type Directory, explainConstraint, newId, timeAfter } from "./directory.ts";
import { applyMemberSteps, membersChanged } from "./group-members.ts";
import { type MemberStep, memberIdsFrom, memberStepsFrom } from "./member-steps.ts";
import { normalize } from "./normalize.ts";
import { applyPatch } from "./patch.ts";
import { type PatchOperation, parsePatch } from "./patch-request.ts";
import { COLUMNS, type Row } from "./resource.ts";
import { groupType, type Json } from "./schema.ts";
import { badRequest, noSuch } from "./scim-error.ts";

export async function findGroup(db: ReadDb, idpUid: string, id: string): Promise<Row> {
  const row = await selectGroup(db, idpUid, id).executeTakeFirst();
  if (row === undefined) throw noSuch("group", id);
  return row;
}

export function createGroup({ provider, store, grants, clock }: Directory, request: Json): Promise<Row> {
  const body = bodyFrom(request);
  const ids = memberIdsFrom(membersOf(request));
  return store
    .transaction(async (db) => {
      const now = clock.now().toISOString();
      const row = { id: newId(), create_time: now, update_time: now, version: 1, body: JSON.stringify(body) };
      await db
        .insertInto("scim_group")
        .values({ ...row, ...columnsOf(body), idp_uid: provider.uid })
        .execute();
      await membersChanged(db, grants, await applyMemberSteps(db, provider.uid, row.id, [{ kind: "add", ids }]));
      return row;
    })
    .catch(explainConstraint);
}

/** Members that are left out of a whole resource are none. */
export function replaceGroup(directory: Directory, id: string, request: Json, ifMatch: string | undefined): Promise<Row> {
  const body = bodyFrom(request);
  const steps: MemberStep[] = [{ kind: "set", ids: memberIdsFrom(membersOf(request)) }];
  return changeGroup(directory, id, ifMatch, () => body, steps);
}

export function patchGroup(directory: Directory, id: string, request: Json, ifMatch: string | undefined): Promise<Row> {
  const operations = parsePatch(groupType, request);
  const isOfMembers = ({ target }: PatchOperation) => target.attribute?.name === "members";
  const steps = memberStepsFrom(operations.filter(isOfMembers));
  const others = operations.filter((operation) => !isOfMembers(operation));
  return changeGroup(directory, id, ifMatch, (before) => bodyFrom(applyPatch(before, others)), steps);
}

export async function deleteGroup({ provider, store, grants }: Directory, id: string, ifMatch: string | undefined): Promise<void> {
  await store.transaction(async (db) => {
    const row = await db.dialect.forDelete(selectGroup(db, provider.uid, id)).executeTakeFirst();
    if (row === undefined) throw noSuch("group", id);
    assertMatches(row, ifMatch);
    await membersChanged(db, grants, await applyMemberSteps(db, provider.uid, id, [{ kind: "set", ids: [] }]));
    await db.deleteFrom("scim_group").where("id", "=", id).execute();
  });
}

function changeGroup(
  { provider, store, grants, clock }: Directory,
  id: string,
  ifMatch: string | undefined,
  change: (before: Json) => Json,
  steps: readonly MemberStep[],
): Promise<Row> {
  return store
    .transaction(async (db) => {
      const before = await db.dialect.forUpdate(selectGroup(db, provider.uid, id)).executeTakeFirst();
      if (before === undefined) throw noSuch("group", id);
      assertMatches(before, ifMatch);
      const known = JSON.parse(before.body) as Json;
      const body = change(known);
      const changed = await applyMemberSteps(db, provider.uid, id, steps);
      const isOther = !isDeepStrictEqual(body, known);
      if (!isOther && changed.size === 0) return before;
      const { create_time, update_time, version } = before;
      const row = {
        id,
        create_time,
        update_time: timeAfter(update_time, clock.now()),
        version: version + 1,
        body: JSON.stringify(body),
      };
      await save(db, row, body);
      // By its name or external id a group is mapped to roles.
      await (isOther ? grants.recordChange(db, "*") : membersChanged(db, grants, changed));
      return row;
    })
    .catch(explainConstraint);
}

async function save(db: WriteDb, { id, update_time, version, body: text }: Row, body: Json): Promise<void> {
  await db
    .updateTable("scim_group")
    .set({ ...columnsOf(body), update_time, version, body: text })
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

function bodyFrom(request: Json): Json {
  const { members: _, ...body } = normalize(groupType, withoutMembers(request));
  const { displayName } = body;
  if (typeof displayName !== "string" || displayName.trim() === "") throw badRequest("invalidValue", "displayName must not be empty");
  return body;
}

function membersOf(request: Json): unknown {
  return Object.entries(request).find(([name]) => name.toLowerCase() === "members")?.[1];
}

function withoutMembers(request: Json): Json {
  return Object.fromEntries(Object.entries(request).filter(([name]) => name.toLowerCase() !== "members"));
}

function columnsOf(body: Json) {
  const { externalId, displayName } = body;
  const isGiven = typeof externalId === "string" && externalId !== "";
  return { external_id: isGiven ? externalId : null, display_name: String(displayName).toLowerCase() };
}
