/** A user's own profile: the names in the token of the sign-in, and fields that the user sets. */
import { clone, create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import {
  type IdentityMetadata,
  IdentityMetadataSchema,
  type UpdateIdentityMetadataRequest,
} from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { applyMask } from "../../api/resource/field-mask.ts";
import { invalidArgument, permissionDenied, unauthenticated } from "../../lib/errors.ts";
import { lockIdentity } from "../identities/identity-record.ts";
import { isNarrowed } from "../tokens/narrowing.ts";

const MAX_BODY = 16 * 1024;

/** Changes the caller's own metadata. `hubspot_utk` goes into the event and is never stored. */
export async function updateIdentityMetadata(
  { identityMetadata, updateMask }: UpdateIdentityMetadataRequest,
  call: WriteCall,
): Promise<IdentityMetadata> {
  const { principal, db } = call;
  if (principal === undefined || identityMetadata === undefined) throw unauthenticated("sign in first");
  // Only the user changes the account: a tenant who holds a narrowed token of the user must not.
  if (isNarrowed(principal)) throw permissionDenied("this token is narrowed and does not allow changing the account");
  // There may be no metadata yet, so changes lock the identity. They cannot outlive it either.
  if (!(await lockIdentity(db, principal.uid))) throw unauthenticated("the identity no longer exists");
  const row = await db.selectFrom("identity_metadata").select("body").where("uid", "=", principal.uid).executeTakeFirst();
  const stored = row === undefined ? create(IdentityMetadataSchema) : fromJsonString(IdentityMetadataSchema, row.body);
  const next = applyMask(IdentityMetadataSchema, stored, identityMetadata, updateMask);
  // Before they are encoded. An event has the text that is not stored, too.
  assertSmallMetadata(textLength(next));
  const kept = clone(IdentityMetadataSchema, next);
  kept.hubspotUtk = "";
  const body = toJsonString(IdentityMetadataSchema, kept);
  assertSmallMetadata(body.length);
  call.changed = body !== row?.body || next.hubspotUtk !== "";
  if (call.changed) await store(principal.uid, body, call);
  next.uid = principal.uid;
  next.name = principal.upstream.name ?? "";
  next.givenName = principal.upstream.given_name ?? "";
  next.familyName = principal.upstream.family_name ?? "";
  return next;
}

function textLength(metadata: IdentityMetadata): number {
  return IdentityMetadataSchema.fields.reduce((sum, { localName }) => {
    const value: unknown = metadata[localName as keyof IdentityMetadata];
    return typeof value === "string" ? sum + value.length : sum;
  }, 0);
}

/** @param length characters */
export function assertSmallMetadata(length: number): void {
  if (length > MAX_BODY) throw invalidArgument("identity_metadata", `identity_metadata must be smaller than ${MAX_BODY} characters`);
}

async function store(uid: string, body: string, { db, now }: WriteCall): Promise<void> {
  const update_time = now.toISOString();
  await db
    .insertInto("identity_metadata")
    .values({ uid, body, update_time })
    .onConflict((conflict) => conflict.column("uid").doUpdateSet({ body, update_time }))
    .execute();
}
