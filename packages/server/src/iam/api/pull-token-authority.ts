/** Decides who may see, change and issue pull tokens. */
import type { PullToken } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { sql } from "kysely";
import { Access } from "../../access/capabilities.ts";
import { capabilitySet, capabilitySetFromHex } from "../../access/capability-set.ts";
import type { Principal } from "../../access/principal.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import type { Call, WriteCall } from "../../api/call/call.ts";
import { within } from "../../api/resource/conditions.ts";
import type { Condition } from "../../api/resource/visible.ts";
import { failedPrecondition, notFound, permissionDenied } from "../../lib/errors.ts";
import { isUid, parentOf, rangeAtOrBelow, rootOf } from "../../lib/uid.ts";
import { creatorFromPrincipal } from "../pull-tokens/pull-token-access.ts";
import type { Creator } from "../pull-tokens/pull-token-record.ts";
import { capabilitiesOfRights } from "../pull-tokens/rights.ts";
import { isNarrowed, NOT_NARROWED } from "../tokens/narrowing.ts";
import { assertHoldsAll, type EscalationCollaborators } from "./escalation.ts";
import { isStaff } from "./staff.ts";

export const LIST = capabilitySet([Capability.CAP_IAM_IDENTITY_LIST]);
const MAKE_INDEPENDENT = capabilitySet([Capability.CAP_IAM_IDENTITY_UPDATE, Capability.CAP_IAM_ROLE_BINDINGS_UPDATE]);

/** A use of a pull token. */
export interface Use {
  /** Capabilities that callers other than the creator need at the token. */
  readonly capabilities: bigint;
  /** Tokens for which the creator needs no capability. An independent token belongs to its organization. */
  readonly ofCreator: "all" | "dependent";
}

/** The creator may see and revoke its tokens without a capability, unless it presents a narrowed access token. */
function actsAsCreator({ principal }: Pick<Call, "principal">): boolean {
  return principal !== undefined && !isNarrowed({ ...principal, within: undefined });
}

/** A creator who has left, or whose session is for another organization, has no rights at the group of the token. */
function hasRightsAtGroup(uid: string, { access }: Pick<Call, "access">): boolean {
  return access.capabilitiesAt(parentOf(uid)) !== 0n;
}

/**
 * @returns whether the caller may use the token as its creator
 * @throws NOT_FOUND; PERMISSION_DENIED unless the caller may as creator, or holds the capabilities at the token
 */
export async function assertMayUse(uid: string, { capabilities, ofCreator }: Use, call: Call): Promise<boolean> {
  if (!isUid(uid)) throw notFound("PullToken", uid.slice(0, 200));
  const row = await call.db.selectFrom("pull_token").select(["creator", "independent"]).where("uid", "=", uid).executeTakeFirst();
  const isOwn = row !== undefined && row.creator === call.principal?.uid && (ofCreator === "all" || row.independent === 0);
  if (isOwn && actsAsCreator(call) && hasRightsAtGroup(uid, call)) return true;
  await assertHolds({ kind: "PullToken", uid }, capabilities, call.access, call.db);
  if (row === undefined) throw notFound("PullToken", uid);
  return false;
}

/** The access by which a list finds its rows, and conditions for the rows that the caller may see. */
export interface VisibleTokens {
  readonly access: Access;
  readonly conditions: readonly Condition[];
}

/** Tokens below groups where the caller holds the capability to list, and those that it created below groups where it has rights. */
export async function visibleTokens(call: Call): Promise<VisibleTokens> {
  const { access, db, principal } = call;
  const self = principal?.uid ?? "";
  const places = access.scopes(0n);
  const plain = { access, conditions: [] };
  if (!actsAsCreator(call) || places.every((uid) => access.holds(LIST, uid))) return plain;
  const own = db.selectFrom("pull_token").select("uid").where("creator", "=", self).limit(1);
  if ((await own.executeTakeFirst()) === undefined) return plain;
  const listable = access.scopes(LIST).map(rangeAtOrBelow);
  const everywhere = new Access(new Map(places.map((uid) => [uid, LIST])));
  const seek = sql<boolean>`(creator = ${self} or ${within(listable, sql.ref("uid"), db.dialect)})`;
  const test = sql<boolean>`(${db.dialect.unindexed("creator")} = ${self} or ${within(listable, db.dialect.unindexed("uid"), db.dialect)})`;
  return { access: everywhere, conditions: [{ seek, test }] };
}

/** The rights and the creator that a new or changed pull token gets from its caller. */
export interface PullTokenGrant {
  readonly capabilities: bigint;
  readonly creator: Creator;
}

/**
 * @throws PERMISSION_DENIED unless the caller holds the token's rights at the group, and may make it independent if it is;
 * FAILED_PRECONDITION if the token would have no rights because those of the caller end with its session
 */
export async function assertMayGive(
  { rights, independent }: PullToken,
  groupUid: string,
  call: WriteCall,
  collaborators: EscalationCollaborators,
): Promise<PullTokenGrant> {
  const { required, optional } = capabilitiesOfRights(rights);
  await assertHoldsAll(required, groupUid, call, collaborators);
  const principal = requirePrincipal(call);
  const { access, registered } = await collaborators.grants.loadSession(principal, call.db);
  const given = {
    capabilities: required | (optional & access.capabilitiesAt(groupUid)),
    creator: creatorFromPrincipal(principal, registered),
  };
  if (independent) await assertMayMakeIndependent(groupUid, call, collaborators);
  else await assertLasting({ capabilities: required, creator: given.creator }, groupUid, call, collaborators);
  return given;
}

/**
 * A token may have capabilities that its rights do not require. The caller has to hold these too, since it gets the password.
 * @throws PERMISSION_DENIED; FAILED_PRECONDITION as `assertMayGive`
 */
export async function assertMayTakeOver(token: PullToken, call: WriteCall, collaborators: EscalationCollaborators): Promise<void> {
  const groupUid = parentOf(token.uid);
  await assertMayGive(token, groupUid, call, collaborators);
  const stored = call.db.selectFrom("pull_token").select("capabilities").where("uid", "=", token.uid);
  const { capabilities } = await stored.executeTakeFirstOrThrow();
  await assertHoldsAll(capabilitySetFromHex(capabilities), groupUid, call, collaborators);
}

function requirePrincipal({ principal }: WriteCall): Principal {
  if (principal === undefined) throw permissionDenied("sign in first");
  return principal;
}

async function assertMayMakeIndependent(groupUid: string, call: WriteCall, collaborators: EscalationCollaborators): Promise<void> {
  if (isStaff(call, groupUid, collaborators)) return;
  await assertHolds({ kind: "Group", uid: rootOf(groupUid) }, MAKE_INDEPENDENT, call.access, call.db);
}

/** @throws FAILED_PRECONDITION if the creator loses the capabilities when its session ends */
async function assertLasting(
  { capabilities, creator }: PullTokenGrant,
  groupUid: string,
  { db }: WriteCall,
  { grants }: EscalationCollaborators,
): Promise<void> {
  const { exists, access } = await grants.loadSession({ ...NOT_NARROWED, ...creator }, db);
  if (exists && access.holds(capabilities, groupUid)) return;
  throw failedPrecondition(
    "RIGHTS_END_WITH_SESSION",
    "you hold these rights only by groups that your identity provider named at your sign-in, so the token would lose them; " +
      "ask for a role binding, or let somebody who has one create the token",
  );
}
