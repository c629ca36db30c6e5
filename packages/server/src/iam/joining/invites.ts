/**
 * Generates and redeems invite codes. A code is a secret like a token: it is shown once, and only its hash is stored.
 */
import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type GroupInvite, GroupInviteSchema } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { RoleBindingSchema } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { recordRemoved } from "../../api/resource/write.ts";
import { appendToCount } from "../../db/resource-count.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { Code, HoltError, invalidArgument, permissionDenied } from "../../lib/errors.ts";
import { isRecord } from "../../lib/is-record.ts";
import { compileJsonEncoder, messageFromJson } from "../../lib/proto-json.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import { isAtOrBelow, newUid, parentOf } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import { keepIdentity } from "../identities/identity-record.ts";
import { assertSatisfiesPolicy, type SignedIn } from "../policy/sign-in-policy.ts";
import { join } from "./membership.ts";

/** The person who redeems a code. The identity must exist. */
export interface Redeemer {
  readonly identityUid: string;
  /** Verified by an issuer whose claim is accepted; undefined otherwise. */
  readonly email: string | undefined;
  /** Uid of the only organization where that claim is accepted; left out if it is accepted everywhere. */
  readonly emailWithin?: string;
  /** Whether the login shows that the person wants to join; false if somebody else may hold the token. */
  readonly mayJoin: boolean;
  /** Provider and methods of the person's sign-in. */
  readonly signedIn: SignedIn;
}

export interface RedeemedInvite {
  readonly groupUid: string;
  readonly roleUid: string;
  /** False if the identity has joined and had this role in the group before, and the invite can be redeemed again. */
  readonly changed: boolean;
}

const MAX_CODE_LENGTH = 8 * 1024;
const encodeBinding = compileJsonEncoder(RoleBindingSchema);

/** A binding to be made. */
export interface RoleAtGroup {
  readonly identityUid: string;
  readonly roleUid: string;
  readonly groupUid: string;
}

/** The code is base64 of JSON that clients may read. The 32 random bytes are the secret. */
export function generateInviteCode({ uid, keyId, expirationTime }: GroupInvite): { readonly code: string; readonly hash: string } {
  const content = {
    grp: parentOf(uid),
    id: uid,
    exp: Number(expirationTime?.seconds ?? 0),
    kid: keyId,
    sig: randomBytes(32).toString("base64url"),
  };
  const code = Buffer.from(JSON.stringify(content)).toString("base64");
  return { code, hash: sha256Hex(code) };
}

/**
 * Binds the invite's role to the identity at the invite's group, unless it is already bound. Deletes a single-use
 * invite; if two transactions redeem it at the same time, one gets NOT_FOUND.
 * @throws INVALID_ARGUMENT on `code` if it is not an invite code; NOT_FOUND with the same message if the invite never
 * existed, was used or deleted, or has expired; PERMISSION_DENIED if it is for another email
 */
export async function redeemInvite(
  db: WriteDb,
  { code, redeemer, now }: { readonly code: string; readonly redeemer: Redeemer; readonly now: Date },
  grants: Grants,
): Promise<RedeemedInvite> {
  assertIsInviteCode(code);
  const invite = await findUsable(db, sha256Hex(code), now);
  const groupUid = parentOf(invite.uid);
  assertAddressedTo(invite, groupUid, redeemer);
  await assertSatisfiesPolicy(db, groupUid, redeemer.signedIn);
  if (!(await lockRole(db, invite.roleUid))) throw unusableInvite();
  const { identityUid } = redeemer;
  const isNew = await bindOnce(db, { identityUid, roleUid: invite.roleUid, groupUid }, now);
  const hasJoined = redeemer.mayJoin && (await join(db, { identityUid, groupUid, now }));
  if (isNew || hasJoined) await grants.recordChange(db, [identityUid]);
  if (invite.singleUse) await deleteInvites(db, sql<boolean>`uid = ${invite.uid}`);
  return { groupUid, roleUid: invite.roleUid, changed: isNew || hasJoined || invite.singleUse };
}

/** Notes the deleted invites for the audit entry of the transaction. */
export async function deleteInvites(db: WriteDb, condition: RawBuilder<boolean>): Promise<void> {
  const deleted = await db.deleteFrom("group_invite").where(condition).returning(["uid", "body"]).execute();
  await recordRemoved({ table: "group_invite", schema: GroupInviteSchema }, deleted, db);
}

/** The group and role that an invite offers. */
export interface InviteDescription {
  readonly groupName: string;
  readonly roleName: string;
}

/** Describes an invite before it is redeemed. Throws what `redeemInvite` would throw. */
export async function describeInvite(db: ReadDb, code: string, redeemer: Redeemer, now: Date): Promise<InviteDescription> {
  const { groupUid, groupName, roleName, email } = await readInvite(db, code, now);
  assertAddressedTo({ email }, groupUid, redeemer);
  await assertSatisfiesPolicy(db, groupUid, redeemer.signedIn);
  return { groupName, roleName };
}

/** An invite as its bearer may read it. */
export interface ReadInvite extends InviteDescription {
  readonly groupUid: string;
  /** The only address that may redeem it; empty for any. */
  readonly email: string;
}

/** Reads an invite for a person who has no account yet. Throws what `redeemInvite` would throw, except for another address. */
export async function readInvite(db: ReadDb, code: string, now: Date): Promise<ReadInvite> {
  assertIsInviteCode(code);
  const found = await db
    .selectFrom("group_invite")
    .innerJoin("group", "group.uid", "group_invite.parent")
    .innerJoin("role", "role.uid", "group_invite.role_uid")
    .select(["group_invite.body", "group_invite.expiration_time", "group.uid", "group.name as groupName", "role.name as roleName"])
    .where("group_invite.code_hash", "=", sha256Hex(code))
    .executeTakeFirst();
  if (found === undefined || found.expiration_time <= now.toISOString()) throw unusableInvite();
  const { email } = messageFromJson(GroupInviteSchema, found.body);
  return { groupUid: found.uid, groupName: found.groupName, roleName: found.roleName, email };
}

/** Locks the group before the invite: the order in which deleting a group locks them. */
async function findUsable(db: WriteDb, hash: string, now: Date): Promise<GroupInvite> {
  const found = await db.selectFrom("group_invite").select(["uid", "parent"]).where("code_hash", "=", hash).executeTakeFirst();
  if (found === undefined) throw unusableInvite();
  await db.dialect.forKeyShare(db.selectFrom("group").select("uid").where("uid", "=", found.parent)).execute();
  const query = db.selectFrom("group_invite").select(["body", "expiration_time"]).where("uid", "=", found.uid);
  const locked = await db.dialect.forDelete(query).executeTakeFirst();
  if (locked === undefined || locked.expiration_time <= now.toISOString()) throw unusableInvite();
  return messageFromJson(GroupInviteSchema, locked.body);
}

/** Mail providers ignore the case of ASCII letters; other characters are compared exactly. */
function assertAddressedTo({ email }: Pick<GroupInvite, "email">, groupUid: string, redeemer: Redeemer): void {
  if (email === "") return;
  const isBelieved = redeemer.emailWithin === undefined || isAtOrBelow(groupUid, redeemer.emailWithin);
  if (isBelieved && redeemer.email !== undefined && asciiLower(redeemer.email) === asciiLower(email)) return;
  throw permissionDenied(
    "this invite is for another email address, or your provider is not trusted to confirm yours; sign in with the invited account",
  );
}

function asciiLower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/**
 * Locks the role, so that no capability is added to it before the binding exists: that would hand it out unchecked
 * (api/roles.ts).
 * @returns whether the role exists
 */
export async function lockRole(db: WriteDb, uid: string): Promise<boolean> {
  return (await db.dialect.forShare(db.selectFrom("role").select("uid").where("uid", "=", uid)).executeTakeFirst()) !== undefined;
}

/** @returns false if the role was already bound */
export async function bindOnce(db: WriteDb, { identityUid, roleUid, groupUid }: RoleAtGroup, now: Date): Promise<boolean> {
  await keepIdentity(db, identityUid);
  const uid = newUid(groupUid);
  const time = now.toISOString();
  const body = encodeBinding(create(RoleBindingSchema, { uid, identityUid, roleUid, createTime: timestampFromDate(now) }));
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("role_binding")
    .values({ uid, parent: groupUid, name: "", create_time: time, update_time: time, identity_uid: identityUid, role_uid: roleUid, body })
    .onConflict((conflict) => conflict.columns(["parent", "identity_uid", "role_uid"]).doNothing())
    .executeTakeFirstOrThrow();
  const isNew = numInsertedOrUpdatedRows === 1n;
  if (!isNew) return false;
  await appendToCount(db, "role_binding", uid, 1);
  db.audit.changes.push({ kind: RoleBindingSchema.name, uid, schema: RoleBindingSchema, after: body });
  return true;
}

/** Gives a clear error for a truncated code, without a database query. */
function assertIsInviteCode(code: string): void {
  try {
    const bytes = Buffer.from(code, "base64");
    const content =
      code.length <= MAX_CODE_LENGTH && bytes.toString("base64") === code ? parseStrictJson(bytes.toString("utf8")) : undefined;
    if (isRecord(content) && typeof content.grp === "string" && typeof content.sig === "string") return;
  } catch {
    // Handled below.
  }
  throw invalidArgument("code", "not an invite code; copy the whole code or link that you received");
}

function unusableInvite(): HoltError {
  return new HoltError(
    Code.NOT_FOUND,
    "Not found: this invite does not exist, was already used or deleted, or has expired; ask the person who invited you for a new one",
    { resource: { kind: "GroupInvite", uid: "" } },
  );
}
