/** Users of a directory: each is a row, and stands for an identity that its person logs in as. Who is deactivated or deleted has lost their rights when the answer goes out. */
import { isDeepStrictEqual } from "node:util";
import { IdentityProvider_OIDC_CorrelationRule as Rule } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import type { ReadDb, WriteDb } from "../db/store.ts";
import type { Grants } from "../iam/grants/grants.ts";
import type { IdentityProviderRecord } from "../iam/identities/identity-provider-record.ts";
import { userIdentityUid } from "../iam/identities/user-identity.ts";
import { revokeLoginsThrough } from "../iam/tokens/refresh-token.ts";
import { assertMatches, type Directory, explainConstraint, newId, timeAfter } from "./directory.ts";
import { normalize } from "./normalize.ts";
import { applyPatch } from "./patch.ts";
import { parsePatch } from "./patch-request.ts";
import { COLUMNS, type Row } from "./resource.ts";
import { type Json, userType } from "./schema.ts";
import { badRequest, noSuch } from "./scim-error.ts";

interface StoredUser extends Row {
  readonly external_id: string | null;
  readonly active: number;
}

export async function findUser(db: ReadDb, idpUid: string, id: string): Promise<Row> {
  const row = await selectUser(db, idpUid, id).executeTakeFirst();
  if (row === undefined) throw noSuch("user", id);
  return row;
}

export function createUser(directory: Directory, request: Json): Promise<Row> {
  const body = bodyFrom(request, true);
  const { provider, store, grants, clock } = directory;
  return store
    .transaction(async (db) => {
      const now = clock.now().toISOString();
      const row = { id: newId(), create_time: now, update_time: now, version: 1, body: JSON.stringify(body) };
      await forgetDeleted(db, provider.uid, externalIdOf(body));
      await db
        .insertInto("scim_user")
        .values({ ...row, ...columnsOf(body), idp_uid: provider.uid, delete_time: null })
        .execute();
      await foretell(db, provider, externalIdOf(body));
      if (body.active === true) await grants.recordChange(db, await identitiesOf(db, provider.uid, externalIdOf(body)));
      else await endLogins(db, grants, provider.uid, externalIdOf(body));
      return row;
    })
    .catch(explainConstraint);
}

export function replaceUser(directory: Directory, id: string, request: Json, ifMatch: string | undefined): Promise<Row> {
  // What is left out of a whole resource must not let anybody in again.
  return changeUser(directory, id, ifMatch, (before) => bodyFrom(request, before.active === true));
}

export function patchUser(directory: Directory, id: string, request: Json, ifMatch: string | undefined): Promise<Row> {
  const operations = parsePatch(userType, request);
  if (operations.some(({ verb, target }) => verb === "remove" && target.attribute?.name === "active"))
    throw badRequest("invalidValue", "active cannot be removed: set it to false");
  return changeUser(directory, id, ifMatch, (before) => bodyFrom(applyPatch(before, operations), before.active === true));
}

export async function deleteUser(directory: Directory, id: string, ifMatch: string | undefined): Promise<void> {
  const { provider, store, grants, clock } = directory;
  await store.transaction(async (db) => {
    const row = await db.dialect.forDelete(selectUser(db, provider.uid, id)).executeTakeFirst();
    if (row === undefined) throw noSuch("user", id);
    assertMatches(row, ifMatch);
    await db.deleteFrom("scim_user").where("id", "=", id).execute();
    await rememberDeleted(db, provider.uid, row.external_id, clock.now());
    await endLogins(db, grants, provider.uid, row.external_id);
  });
}

function changeUser(directory: Directory, id: string, ifMatch: string | undefined, change: (before: Json) => Json): Promise<Row> {
  const { provider, store, clock } = directory;
  return store
    .transaction(async (db) => {
      const before = await db.dialect.forUpdate(selectUser(db, provider.uid, id)).executeTakeFirst();
      if (before === undefined) throw noSuch("user", id);
      assertMatches(before, ifMatch);
      const known = JSON.parse(before.body) as Json;
      const body = change(known);
      if (isDeepStrictEqual(body, known)) return before;
      const row = {
        id,
        create_time: before.create_time,
        update_time: timeAfter(before.update_time, clock.now()),
        version: before.version + 1,
        body: JSON.stringify(body),
      };
      await save(db, directory, before, row, body);
      return row;
    })
    .catch(explainConstraint);
}

async function save(db: WriteDb, { provider, grants, clock }: Directory, before: StoredUser, row: Row, body: Json): Promise<void> {
  const externalId = externalIdOf(body);
  const isOther = externalId !== before.external_id;
  if (isOther) await forgetDeleted(db, provider.uid, externalId);
  const { update_time, version, body: text } = row;
  await db
    .updateTable("scim_user")
    .set({ ...columnsOf(body), update_time, version, body: text })
    .where("id", "=", row.id)
    .execute();
  if (isOther) {
    // With another external id it is another person, and the directory has the former one no longer.
    await foretell(db, provider, externalId);
    await rememberDeleted(db, provider.uid, before.external_id, clock.now());
    await endLogins(db, grants, provider.uid, before.external_id);
  }
  const isActive = body.active === true;
  if (!isActive && (isOther || before.active === 1)) await endLogins(db, grants, provider.uid, externalId);
  else if (isOther || before.active === 0) await grants.recordChange(db, await identitiesOf(db, provider.uid, externalId));
}

function selectUser(db: ReadDb, idpUid: string, id: string) {
  return db
    .selectFrom("scim_user")
    .select([...COLUMNS, "external_id", "active"])
    .where("id", "=", id.includes("\0") ? "" : id)
    .where("idp_uid", "=", idpUid)
    .where("delete_time", "is", null);
}

/** @param isActive where the directory does not say */
function bodyFrom(request: Json, isActive: boolean): Json {
  const body = normalize(userType, request);
  if (String(body.userName).trim() === "") throw badRequest("invalidValue", "userName must not be empty");
  return { ...body, active: body.active ?? isActive };
}

function columnsOf(body: Json) {
  return { external_id: externalIdOf(body), user_name: String(body.userName).toLowerCase(), active: body.active === true ? 1 : 0 };
}

/** An empty one is none. */
function externalIdOf({ externalId }: Json): string | null {
  return typeof externalId === "string" && externalId !== "" ? externalId : null;
}

/** A row that no directory sees: its person has left, and stays out. */
async function rememberDeleted(db: WriteDb, idpUid: string, externalId: string | null, now: Date): Promise<void> {
  if (externalId === null) return;
  const time = now.toISOString();
  const times = { create_time: time, update_time: time, delete_time: time };
  await db
    .insertInto("scim_user")
    .values({ id: newId(), idp_uid: idpUid, external_id: externalId, user_name: "", active: 0, ...times, version: 1, body: "{}" })
    .execute();
}

/** Whoever comes back is no longer who left. */
async function forgetDeleted(db: WriteDb, idpUid: string, externalId: string | null): Promise<void> {
  if (externalId === null) return;
  await db
    .deleteFrom("scim_user")
    .where("idp_uid", "=", idpUid)
    .where("external_id", "=", externalId)
    .where("delete_time", "is not", null)
    .execute();
}

/** By the rule on `sub` the identity is known before its first login; by the one on `oid` the first login tells. */
async function foretell(db: WriteDb, { uid, issuer, correlationRule }: IdentityProviderRecord, externalId: string | null): Promise<void> {
  if (externalId === null || correlationRule === Rule.OID_EQUALS_EXTERNAL_ID) return;
  await db
    .insertInto("scim_identity")
    .values({ idp_uid: uid, external_id: externalId, identity_uid: userIdentityUid(issuer, externalId), login_time: null })
    .onConflict((conflict) => conflict.columns(["idp_uid", "external_id", "identity_uid"]).doNothing())
    .execute();
}

/** @param hasLoggedIn only those who came through the provider */
async function identitiesOf(db: ReadDb, idpUid: string, externalId: string | null, hasLoggedIn = false): Promise<string[]> {
  if (externalId === null) return [];
  const known = db.selectFrom("scim_identity").select("identity_uid").where("idp_uid", "=", idpUid).where("external_id", "=", externalId);
  const rows = await (hasLoggedIn ? known.where("login_time", "is not", null) : known).execute();
  return rows.map(({ identity_uid }) => identity_uid);
}

/**
 * Access tokens are refused by what is known of their identity. Refresh tokens of logins through the provider go: who is let in again has to log in
 * again. Those of other logins are none of the directory's.
 */
async function endLogins(db: WriteDb, grants: Grants, idpUid: string, externalId: string | null): Promise<void> {
  await revokeLoginsThrough(db, idpUid, await identitiesOf(db, idpUid, externalId, true));
  await grants.recordChange(db, await identitiesOf(db, idpUid, externalId));
}
