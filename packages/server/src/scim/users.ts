/**
 * Creates, changes and deletes the users of a directory. Each stands for the identity that its person logs in as. A
 * deactivated or deleted user has lost all rights by the time of the response.
 */
import { isDeepStrictEqual } from "node:util";
import { IdentityProvider_OIDC_CorrelationRule as Rule } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import type { ReadDb, WriteDb } from "../db/store.ts";
import type { Grants } from "../iam/grants/grants.ts";
import type { IdentityProviderRecord } from "../iam/identities/identity-provider-record.ts";
import { userIdentityUid } from "../iam/identities/user-identity.ts";
import { revokeLoginsThrough } from "../iam/tokens/refresh-token.ts";
import { assertEtagMatches, type Directory, laterTime, newId, rethrowConstraint } from "./directory.ts";
import { normalize } from "./normalize.ts";
import { applyPatch } from "./patch.ts";
import { parsePatch } from "./patch-request.ts";
import { COLUMNS, type ScimRow } from "./resource.ts";
import { type Json, userType } from "./schema.ts";
import { badRequest, notFound } from "./scim-error.ts";

interface StoredUser extends ScimRow {
  readonly external_id: string | null;
  readonly active: number;
}

export async function findUser(db: ReadDb, idpUid: string, id: string): Promise<ScimRow> {
  const row = await selectUser(db, idpUid, id).executeTakeFirst();
  if (row === undefined) throw notFound("user", id);
  return row;
}

export function createUser(directory: Directory, request: Json): Promise<ScimRow> {
  const body = parseBody(request, true);
  const { provider, store, grants, clock } = directory;
  return store
    .transaction(async (db) => {
      const now = clock.now().toISOString();
      const row = { id: newId(), create_time: now, update_time: now, version: 1, body: JSON.stringify(body) };
      await forgetDeleted(db, provider.uid, externalIdOf(body));
      await db
        .insertInto("scim_user")
        .values({ ...row, ...columnsFromBody(body), idp_uid: provider.uid, delete_time: null })
        .execute();
      db.audit.changes.push({ kind: "ScimUser", uid: row.id, after: row.body });
      await linkIdentity(db, provider, externalIdOf(body));
      if (body.active === true) await grants.recordChange(db, await findIdentities(db, provider.uid, externalIdOf(body)));
      else await revokeLogins(db, grants, provider.uid, externalIdOf(body));
      return row;
    })
    .catch(rethrowConstraint);
}

export function replaceUser(directory: Directory, id: string, request: Json, ifMatch: string | undefined): Promise<ScimRow> {
  // A replacement without `active` must not reactivate the user.
  return changeUser(directory, id, ifMatch, (before) => parseBody(request, before.active === true));
}

export function patchUser(directory: Directory, id: string, request: Json, ifMatch: string | undefined): Promise<ScimRow> {
  const operations = parsePatch(userType, request);
  if (operations.some(({ verb, target }) => verb === "remove" && target.attribute?.name === "active"))
    throw badRequest("invalidValue", "active cannot be removed: set it to false");
  return changeUser(directory, id, ifMatch, (before) => parseBody(applyPatch(before, operations), before.active === true));
}

export async function deleteUser(directory: Directory, id: string, ifMatch: string | undefined): Promise<void> {
  const { provider, store, grants, clock } = directory;
  await store.transaction(async (db) => {
    const row = await db.dialect.forDelete(selectUser(db, provider.uid, id)).executeTakeFirst();
    if (row === undefined) throw notFound("user", id);
    assertEtagMatches(row, ifMatch);
    await db.deleteFrom("scim_user").where("id", "=", id).execute();
    db.audit.changes.push({ kind: "ScimUser", uid: id, before: row.body });
    await rememberDeleted(db, provider.uid, row.external_id, clock.now());
    await revokeLogins(db, grants, provider.uid, row.external_id);
  });
}

function changeUser(directory: Directory, id: string, ifMatch: string | undefined, change: (before: Json) => Json): Promise<ScimRow> {
  const { provider, store, clock } = directory;
  return store
    .transaction(async (db) => {
      const before = await db.dialect.forUpdate(selectUser(db, provider.uid, id)).executeTakeFirst();
      if (before === undefined) throw notFound("user", id);
      assertEtagMatches(before, ifMatch);
      const known = JSON.parse(before.body) as Json;
      const body = change(known);
      if (isDeepStrictEqual(body, known)) return before;
      const row = {
        id,
        create_time: before.create_time,
        update_time: laterTime(before.update_time, clock.now()),
        version: before.version + 1,
        body: JSON.stringify(body),
      };
      await save(db, directory, { before, row, body });
      return row;
    })
    .catch(rethrowConstraint);
}

interface UserChange {
  readonly before: StoredUser;
  readonly row: ScimRow;
  readonly body: Json;
}

async function save(db: WriteDb, { provider, grants, clock }: Directory, { before, row, body }: UserChange): Promise<void> {
  const externalId = externalIdOf(body);
  const hasNewExternalId = externalId !== before.external_id;
  if (hasNewExternalId) await forgetDeleted(db, provider.uid, externalId);
  const { update_time, version, body: text } = row;
  await db
    .updateTable("scim_user")
    .set({ ...columnsFromBody(body), update_time, version, body: text })
    .where("id", "=", row.id)
    .execute();
  db.audit.changes.push({ kind: "ScimUser", uid: row.id, before: before.body, after: text });
  if (hasNewExternalId) {
    // Another external id means another person; the previous person is no longer in the directory.
    await linkIdentity(db, provider, externalId);
    await rememberDeleted(db, provider.uid, before.external_id, clock.now());
    await revokeLogins(db, grants, provider.uid, before.external_id);
  }
  const isActive = body.active === true;
  if (!isActive && (hasNewExternalId || before.active === 1)) await revokeLogins(db, grants, provider.uid, externalId);
  else if (hasNewExternalId || before.active === 0) await grants.recordChange(db, await findIdentities(db, provider.uid, externalId));
}

function selectUser(db: ReadDb, idpUid: string, id: string) {
  return db
    .selectFrom("scim_user")
    .select([...COLUMNS, "external_id", "active"])
    .where("id", "=", id.includes("\0") ? "" : id)
    .where("idp_uid", "=", idpUid)
    .where("delete_time", "is", null);
}

/** @param isActive value of `active` if the request has none */
function parseBody(request: Json, isActive: boolean): Json {
  const body = normalize(userType, request);
  if (String(body.userName).trim() === "") throw badRequest("invalidValue", "userName must not be empty");
  return { ...body, active: body.active ?? isActive };
}

function columnsFromBody(body: Json) {
  return { external_id: externalIdOf(body), user_name: String(body.userName).toLowerCase(), active: body.active === true ? 1 : 0 };
}

/** An empty string counts as no external id. */
function externalIdOf({ externalId }: Json): string | null {
  return typeof externalId === "string" && externalId !== "" ? externalId : null;
}

/** Stores a hidden row, which keeps the person deactivated. */
async function rememberDeleted(db: WriteDb, idpUid: string, externalId: string | null, now: Date): Promise<void> {
  if (externalId === null) return;
  const time = now.toISOString();
  const times = { create_time: time, update_time: time, delete_time: time };
  await db
    .insertInto("scim_user")
    .values({ id: newId(), idp_uid: idpUid, external_id: externalId, user_name: "", active: 0, ...times, version: 1, body: "{}" })
    .execute();
}

/** A person who is provisioned again is no longer deactivated. */
async function forgetDeleted(db: WriteDb, idpUid: string, externalId: string | null): Promise<void> {
  if (externalId === null) return;
  await db
    .deleteFrom("scim_user")
    .where("idp_uid", "=", idpUid)
    .where("external_id", "=", externalId)
    .where("delete_time", "is not", null)
    .execute();
}

/**
 * Links the account to its identity before the first login. With the rule on `oid`, only the first login reveals the
 * identity.
 */
async function linkIdentity(
  db: WriteDb,
  { uid, issuer, correlationRule }: IdentityProviderRecord,
  externalId: string | null,
): Promise<void> {
  if (externalId === null || correlationRule === Rule.OID_EQUALS_EXTERNAL_ID) return;
  await db
    .insertInto("scim_identity")
    .values({ idp_uid: uid, external_id: externalId, identity_uid: userIdentityUid(issuer, externalId), login_time: null })
    .onConflict((conflict) => conflict.columns(["idp_uid", "external_id", "identity_uid"]).doNothing())
    .execute();
}

/** @param hasLoggedIn whether to return only identities that logged in through the provider */
async function findIdentities(db: ReadDb, idpUid: string, externalId: string | null, hasLoggedIn = false): Promise<string[]> {
  if (externalId === null) return [];
  const known = db.selectFrom("scim_identity").select("identity_uid").where("idp_uid", "=", idpUid).where("external_id", "=", externalId);
  const rows = await (hasLoggedIn ? known.where("login_time", "is not", null) : known).execute();
  return rows.map(({ identity_uid }) => identity_uid);
}

/**
 * Access tokens stop working through the changed rights. Refresh tokens of logins through the provider are deleted, so
 * that a reactivated person must log in again. Logins by other ways are not the directory's concern.
 */
async function revokeLogins(db: WriteDb, grants: Grants, idpUid: string, externalId: string | null): Promise<void> {
  await revokeLoginsThrough(db, [idpUid], await findIdentities(db, idpUid, externalId, true));
  await grants.recordChange(db, await findIdentities(db, idpUid, externalId));
}
