/** Manages the token with which a directory provisions users of an identity provider. A token is shown once, when it is created. */
import { randomBytes } from "node:crypto";
import { create as createMessage } from "@bufbuild/protobuf";
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import {
  GenerateScimTokenResponseSchema,
  type IdentityProvidersService,
  RegenerateScimTokenResponseSchema,
  RevokeScimTokenResponseSchema,
  SetScimEnabledResponseSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { capabilitySet, capabilitySetFromHex, hasAll } from "../../access/capability-set.ts";
import { type Handlers, write } from "../../api/call/implement.ts";
import type { WriteDb } from "../../db/store.ts";
import { dateFromTimestamp, millisecondsFromDuration } from "../../lib/clock.ts";
import { aborted, failedPrecondition, invalidArgument, notFound } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { builtInRoles } from "../grants/built-in-roles.ts";
import { generateScimToken, hashScimToken } from "../identities/scim-credential.ts";
import type { ScimTokenTable } from "../tables.ts";
import type { EscalationCollaborators } from "./escalation.ts";
import { assertHoldsMapped } from "./identity-provider-grants.ts";
import { findScimToken, isLive, scimEndpoint, timestampOf } from "./scim-state.ts";

const DEFAULT_LIFE_YEARS = 1;
const MAX_LIFE_YEARS = 2;
const DEFAULT_OVERLAP_MS = 60 * 60 * 1000;
const MAX_OVERLAP_MS = 24 * 60 * 60 * 1000;
/** Owners that an organization needs before provisioning is enabled, since a directory may take rights from people by mistake. */
const MIN_OWNERS = 2;
const OWNER = capabilitySet(builtInRoles.find((role) => role.name === "owner")?.capabilities ?? []);

type ScimMethods = Pick<
  Handlers<typeof IdentityProvidersService>,
  "generateScimToken" | "regenerateScimToken" | "revokeScimToken" | "setScimEnabled"
>;

export interface ScimTokenCollaborators extends EscalationCollaborators {
  /** Public URL of this server. */
  readonly baseUrl: string;
}

export function scimTokenMethods(collaborators: ScimTokenCollaborators): ScimMethods {
  const { baseUrl } = collaborators;
  return {
    generateScimToken: write(async ({ identityProviderUid: uid, expireTime, neverExpires }, call) => {
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
        endpointUrl: scimEndpoint(baseUrl, uid),
        ...(expire !== null && { expireTime: timestampOf(expire) }),
        identityProviderUid: uid,
        etag: row.etag,
      });
    }),

    regenerateScimToken: write(async ({ identityProviderUid: uid, overlap, expireTime, etag, neverExpires }, call) => {
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
        endpointUrl: scimEndpoint(baseUrl, uid),
        ...(expire !== null && { expireTime: timestampOf(expire) }),
        identityProviderUid: uid,
        etag: row.etag,
        ...(end !== null && { previousTokenExpireTime: timestampOf(end) }),
        requestedOverlap: overlap ?? { seconds: BigInt(DEFAULT_OVERLAP_MS / 1000), nanos: 0 },
      });
    }),

    // Revoking twice succeeds: in an emergency it matters only that the token is revoked.
    revokeScimToken: write(async ({ identityProviderUid: uid }, call) => {
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
    }),

    setScimEnabled: write(async ({ identityProviderUid: uid, enabled, etag }, call) => {
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
    }),
  };
}

const NO_TOKEN = { token_hash: null, expire_time: null, previous_token_hash: null, previous_expire_time: null, revoke_time: null };

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

/** In the form of the column; null for a token that never expires. */
function expiryOf(expireTime: Timestamp | undefined, neverExpires: boolean, now: Date): string | null {
  if (neverExpires && expireTime !== undefined)
    throw invalidArgument("never_expires", "expire_time and never_expires cannot be given together");
  if (neverExpires) return null;
  if (expireTime === undefined) return yearsFrom(now, DEFAULT_LIFE_YEARS).toISOString();
  const date = dateFromTimestamp(expireTime);
  if (Number.isNaN(date.getTime())) throw invalidArgument("expire_time", "expire_time must be a valid time");
  if (date <= now) throw invalidArgument("expire_time", "expire_time must be in the future");
  if (date > yearsFrom(now, MAX_LIFE_YEARS))
    throw invalidArgument(
      "expire_time",
      `expire_time must be at most ${MAX_LIFE_YEARS} years from now; use never_expires for a token without an expiration`,
    );
  return date.toISOString();
}

function yearsFrom(now: Date, years: number): Date {
  const date = new Date(now);
  date.setUTCFullYear(date.getUTCFullYear() + years);
  return date;
}

/** In milliseconds, at most a day. */
function overlapOf(overlap: Duration | undefined): number {
  if (overlap === undefined) return DEFAULT_OVERLAP_MS;
  const ms = millisecondsFromDuration(overlap);
  if (Number.isNaN(ms) || ms < 0) throw invalidArgument("overlap", "overlap must not be negative");
  return Math.min(ms, MAX_OVERLAP_MS);
}

/** When the replaced token ends: after the overlap, or earlier if it expires earlier. */
function endOf({ expire_time }: ScimTokenTable, overlapMs: number, now: Date): string {
  const end = new Date(now.getTime() + overlapMs).toISOString();
  return expire_time !== null && expire_time < end ? expire_time : end;
}

/** Counts bound owners only: a role that comes from a group is never stored as a binding. */
async function assertOwners(organizationUid: string, db: WriteDb): Promise<void> {
  const rows = await db
    .selectFrom("role_binding")
    .innerJoin("role", "role.uid", "role_binding.role_uid")
    .select(["role_binding.identity_uid as identityUid", "role.capabilities as capabilities"])
    .distinct()
    .where("role_binding.parent", "=", organizationUid)
    .execute();
  const owners = new Set(rows.filter((row) => hasAll(capabilitySetFromHex(row.capabilities), OWNER)).map((row) => row.identityUid));
  if (owners.size < MIN_OWNERS)
    throw failedPrecondition(
      "TOO_FEW_OWNERS",
      `provisioning needs ${MIN_OWNERS} owners with role bindings at the organization, so that a fault in the directory cannot lock everybody out`,
    );
}
