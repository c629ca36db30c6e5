/** Manages the token with which a directory provisions users of an identity provider. A token is shown once, when it is created. */
import { randomBytes } from "node:crypto";
import { create as createMessage } from "@bufbuild/protobuf";
import {
  GenerateScimTokenResponseSchema,
  type IdentityProvidersService,
  RegenerateScimTokenResponseSchema,
  RevokeScimTokenResponseSchema,
  SetScimEnabledResponseSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { type Handlers, write } from "../../api/call/implement.ts";
import type { WriteDb } from "../../db/store.ts";
import { aborted, failedPrecondition, notFound } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { generateScimToken, hashScimToken } from "../identities/scim-credential.ts";
import type { ScimTokenTable } from "../tables.ts";
import type { EscalationCollaborators } from "./escalation.ts";
import { assertHoldsMapped } from "./identity-provider-grants.ts";
import { assertOwners } from "./scim-owners.ts";
import { findScimToken, isLive, scimEndpoint, timestampOf } from "./scim-state.ts";
import { DEFAULT_OVERLAP_MS, endOf, expiryOf, overlapOf } from "./scim-token-times.ts";

type ScimMethods = Required<
  Pick<Handlers<typeof IdentityProvidersService>, "generateScimToken" | "regenerateScimToken" | "revokeScimToken" | "setScimEnabled">
>;

export interface ScimTokenCollaborators extends EscalationCollaborators {
  /** Public URL of this server. */
  readonly baseUrl: string;
}

const NO_TOKEN = { token_hash: null, expire_time: null, previous_token_hash: null, previous_expire_time: null, revoke_time: null };

export function scimTokenMethods(collaborators: ScimTokenCollaborators): ScimMethods {
  return {
    generateScimToken: generateHandler(collaborators),
    regenerateScimToken: regenerateHandler(collaborators),
    revokeScimToken: revokeHandler(),
    setScimEnabled: setEnabledHandler(collaborators),
  };
}

function generateHandler(collaborators: ScimTokenCollaborators): ScimMethods["generateScimToken"] {
  return write(async ({ identityProviderUid: uid, expireTime, neverExpires }, call) => {
    const expire = expiryOf(expireTime, neverExpires, call.now);
    await lockProvider(uid, call.db);
    if ((await findScimToken(call.db, uid)) !== undefined)
      throw failedPrecondition("SCIM_TOKEN_EXISTS", "the identity provider already has a SCIM token; regenerate it");
    await assertHoldsMapped(uid, call, collaborators);
    const token = generateScimToken();
    const row = { ...NO_TOKEN, idp_uid: uid, enabled: 0, etag: newEtag(), token_hash: hashScimToken(token), expire_time: expire };
    await call.db.insertInto("scim_token").values(row).execute();
    return createMessage(GenerateScimTokenResponseSchema, {
      token,
      endpointUrl: scimEndpoint(collaborators.baseUrl, uid),
      ...(expire !== null && { expireTime: timestampOf(expire) }),
      identityProviderUid: uid,
      etag: row.etag,
    });
  });
}

function regenerateHandler(collaborators: ScimTokenCollaborators): ScimMethods["regenerateScimToken"] {
  return write(async ({ identityProviderUid: uid, overlap, expireTime, etag, neverExpires }, call) => {
    const { db, now } = call;
    const expire = expiryOf(expireTime, neverExpires, now);
    const overlapMs = overlapOf(overlap);
    const old = await lockToken(uid, etag, db);
    await assertHoldsMapped(uid, call, collaborators);
    const end = isLive(old, now) ? endOf(old, overlapMs, now) : null;
    const staysUsable = end !== null && end > now.toISOString();
    const token = generateScimToken();
    const row = {
      ...NO_TOKEN,
      etag: newEtag(),
      token_hash: hashScimToken(token),
      expire_time: expire,
      previous_token_hash: staysUsable ? old.token_hash : null,
      previous_expire_time: staysUsable ? end : null,
    };
    await db.updateTable("scim_token").set(row).where("idp_uid", "=", uid).execute();
    return createMessage(RegenerateScimTokenResponseSchema, {
      token,
      endpointUrl: scimEndpoint(collaborators.baseUrl, uid),
      ...(expire !== null && { expireTime: timestampOf(expire) }),
      identityProviderUid: uid,
      etag: row.etag,
      ...(end !== null && { previousTokenExpireTime: timestampOf(end) }),
      requestedOverlap: overlap ?? { seconds: BigInt(DEFAULT_OVERLAP_MS / 1000), nanos: 0 },
    });
  });
}

/** Revoking twice succeeds: in an emergency it matters only that the token is revoked. */
function revokeHandler(): ScimMethods["revokeScimToken"] {
  return write(async ({ identityProviderUid: uid }, call) => {
    const { db, now } = call;
    const old = await lockToken(uid, undefined, db);
    call.changed = old.token_hash !== null;
    const row = call.changed ? { ...NO_TOKEN, etag: newEtag(), revoke_time: now.toISOString() } : old;
    if (call.changed) await db.updateTable("scim_token").set(row).where("idp_uid", "=", uid).execute();
    return createMessage(RevokeScimTokenResponseSchema, {
      identityProviderUid: uid,
      etag: row.etag,
      enabled: old.enabled === 1,
      ...(row.revoke_time !== null && { revokeTime: timestampOf(row.revoke_time) }),
    });
  });
}

function setEnabledHandler(collaborators: ScimTokenCollaborators): ScimMethods["setScimEnabled"] {
  return write(async ({ identityProviderUid: uid, enabled, etag }, call) => {
    const old = await lockToken(uid, etag, call.db);
    call.changed = (old.enabled === 1) !== enabled;
    if (!call.changed) return createMessage(SetScimEnabledResponseSchema, { identityProviderUid: uid, enabled, etag });
    if (enabled) {
      await assertOwners(parentOf(uid), call.db);
      await assertHoldsMapped(uid, call, collaborators);
    }
    const row = { enabled: enabled ? 1 : 0, etag: newEtag() };
    await call.db.updateTable("scim_token").set(row).where("idp_uid", "=", uid).execute();
    return createMessage(SetScimEnabledResponseSchema, { identityProviderUid: uid, enabled, etag: row.etag });
  });
}

function newEtag(): string {
  return randomBytes(8).toString("hex");
}

/** Serializes all decisions on the provider's token. @throws NOT_FOUND */
async function lockProvider(uid: string, db: WriteDb): Promise<void> {
  const row = await db.dialect.forUpdate(db.selectFrom("identity_provider").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (row === undefined) throw notFound("IdentityProvider", uid);
}

/** @param etag must be the current one; undefined skips the check */
async function lockToken(uid: string, etag: string | undefined, db: WriteDb): Promise<ScimTokenTable> {
  await lockProvider(uid, db);
  const row = await findScimToken(db, uid);
  if (row === undefined) throw notFound("ScimToken", uid);
  if (etag !== undefined && etag !== row.etag) throw aborted("the etag is not current: get the identity provider and try again");
  return row;
}
