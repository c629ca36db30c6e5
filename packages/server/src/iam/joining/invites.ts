/** Invites: how their codes look, and what it takes to redeem one. A code is a secret like a token: it is shown once, and only its hash is stored. */
import { createHash, randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type GroupInvite, GroupInviteSchema } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { RoleBindingSchema } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { appendToCount } from "../../db/resource-count.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { Code, HoltError, invalidArgument, notFound, permissionDenied } from "../../lib/errors.ts";
import { compileJsonEncoder, messageFromJson } from "../../lib/proto-json.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import { isAtOrBelow, newUid, parentOf } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import { isRecord } from "../tokens/jwk-set.ts";

/** Who redeems a code. The identity must exist. */
export interface Redeemer {
  readonly identityUid: string;
  /** Verified, and by the word of an issuer that is believed; undefined otherwise. */
  readonly email: string | undefined;
  /** Uid of the one organization in which that issuer is believed; left out where it is believed everywhere. */
  readonly emailWithin?: string;
}

export interface Redeemed {
  readonly groupUid: string;
  readonly roleUid: string;
  /** False where the identity had this role there already. */
  readonly isNew: boolean;
}

const MAX_CODE_LENGTH = 8 * 1024;
const encodeBinding = compileJsonEncoder(RoleBindingSchema);

/** A code for the invite. Readers may look inside; 32 random bytes are the secret. */
export function newInviteCode({ uid, keyId, expirationTime }: GroupInvite): { readonly code: string; readonly hash: string } {
  const content = {
    grp: parentOf(uid),
    id: uid,
    exp: Number(expirationTime?.seconds ?? 0),
    kid: keyId,
    sig: randomBytes(32).toString("base64url"),
  };
  const code = Buffer.from(JSON.stringify(content)).toString("base64");
  return { code, hash: hashOf(code) };
}

/**
 * Gives the identity the role of the invite at its group, or finds that it has it. An invite for a single use is gone then;
 * of two transactions that try at once, one gets NOT_FOUND.
 * @throws INVALID_ARGUMENT on `code` for a text that is no code; NOT_FOUND in the same words whether the invite never was, was used or
 * deleted, or has expired; PERMISSION_DENIED where it is for another email
 */
export async function redeemInvite(db: WriteDb, code: string, redeemer: Redeemer, now: Date, grants: Grants): Promise<Redeemed> {
  assertLooksRight(code);
  const invite = await findUsable(db, hashOf(code), now);
  const groupUid = parentOf(invite.uid);
  assertMeant(invite, groupUid, redeemer);
  if (!(await lockRole(db, invite.roleUid))) throw unusable();
  const isNew = await bindOnce(db, redeemer.identityUid, invite.roleUid, groupUid, now);
  if (isNew) await grants.changed(db, [redeemer.identityUid]);
  if (invite.singleUse) {
    await db.deleteFrom("group_invite").where("uid", "=", invite.uid).execute();
    await appendToCount(db, "group_invite", invite.uid, -1);
  }
  return { groupUid, roleUid: invite.roleUid, isNew };
}

/** What there is to join. */
export interface DescribedInvite {
  readonly groupName: string;
  readonly roleName: string;
}

/** Before it is redeemed, and changing nothing: refuses whom `redeemInvite` would refuse, in the same words. */
export async function describeInvite(db: ReadDb, code: string, redeemer: Redeemer, now: Date): Promise<DescribedInvite> {
  assertLooksRight(code);
  const found = await db
    .selectFrom("group_invite")
    .innerJoin("group", "group.uid", "group_invite.parent")
    .innerJoin("role", "role.uid", "group_invite.role_uid")
    .select(["group_invite.body", "group_invite.expiration_time", "group.uid", "group.name as groupName", "role.name as roleName"])
    .where("group_invite.code_hash", "=", hashOf(code))
    .executeTakeFirst();
  if (found === undefined || found.expiration_time <= now.toISOString()) throw unusable();
  assertMeant(messageFromJson(GroupInviteSchema, found.body), found.uid, redeemer);
  return { groupName: found.groupName, roleName: found.roleName };
}

/** The invite, locked after its group: in the order in which a group is deleted with its invites. */
async function findUsable(db: WriteDb, hash: string, now: Date): Promise<GroupInvite> {
  const found = await db.selectFrom("group_invite").select(["uid", "parent"]).where("code_hash", "=", hash).executeTakeFirst();
  if (found === undefined) throw unusable();
  await db.dialect.forKeyShare(db.selectFrom("group").select("uid").where("uid", "=", found.parent)).execute();
  const query = db.selectFrom("group_invite").select(["body", "expiration_time"]).where("uid", "=", found.uid);
  const locked = await db.dialect.forDelete(query).executeTakeFirst();
  if (locked === undefined || locked.expiration_time <= now.toISOString()) throw unusable();
  return messageFromJson(GroupInviteSchema, locked.body);
}

/** Letters that differ in case only are the same to every provider of mail; other characters are compared as they are. */
function assertMeant({ email }: GroupInvite, groupUid: string, redeemer: Redeemer): void {
  if (email === "") return;
  const isBelieved = redeemer.emailWithin === undefined || isAtOrBelow(groupUid, redeemer.emailWithin);
  if (isBelieved && redeemer.email !== undefined && asciiLower(redeemer.email) === asciiLower(email)) return;
  throw permissionDenied(
    "this invite is for another email address, or your provider does not vouch for yours; sign in with the account that was invited",
  );
}

function asciiLower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Locked as it is: what is added to the role meanwhile would be handed out unchecked (services/iam/roles.ts). @returns whether it is there */
export async function lockRole(db: WriteDb, uid: string): Promise<boolean> {
  return (await db.dialect.forShare(db.selectFrom("role").select("uid").where("uid", "=", uid)).executeTakeFirst()) !== undefined;
}

/** @returns whether it was not bound before */
export async function bindOnce(db: WriteDb, identityUid: string, roleUid: string, groupUid: string, now: Date): Promise<boolean> {
  const identity = await db.dialect.forKeyShare(db.selectFrom("identity").select("uid").where("uid", "=", identityUid)).executeTakeFirst();
  if (identity === undefined) throw notFound("Identity", identityUid);
  const uid = newUid(groupUid);
  const time = now.toISOString();
  const body = encodeBinding(create(RoleBindingSchema, { uid, identityUid, roleUid, createTime: timestampFromDate(now) }));
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("role_binding")
    .values({ uid, parent: groupUid, name: "", create_time: time, update_time: time, identity_uid: identityUid, role_uid: roleUid, body })
    .onConflict((conflict) => conflict.columns(["parent", "identity_uid", "role_uid"]).doNothing())
    .executeTakeFirstOrThrow();
  const isNew = numInsertedOrUpdatedRows === 1n;
  if (isNew) await appendToCount(db, "role_binding", uid, 1);
  return isNew;
}

/** So that a truncated copy is told from an invite that is gone, without asking the database. */
function assertLooksRight(code: string): void {
  try {
    const bytes = Buffer.from(code, "base64");
    const content =
      code.length <= MAX_CODE_LENGTH && bytes.toString("base64") === code ? parseStrictJson(bytes.toString("utf8")) : undefined;
    if (isRecord(content) && typeof content.grp === "string" && typeof content.sig === "string") return;
  } catch {
    // Said below.
  }
  throw invalidArgument("code", "this is not an invite code; copy the whole code or link that you were sent");
}

function unusable(): HoltError {
  return new HoltError(
    Code.NOT_FOUND,
    "Not found: this invite does not exist, was used or withdrawn, or has expired; ask the person who invited you for a new one",
    { resource: { kind: "GroupInvite", uid: "", domain: "iam" } },
  );
}

function hashOf(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}
