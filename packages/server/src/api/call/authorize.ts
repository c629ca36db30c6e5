/** Decides by the access rule of an operation whether the caller may run it, and what a refusal may reveal. */
import type { Message } from "@bufbuild/protobuf";
import { capabilityName } from "@holt/api";
import type { Access } from "../../access/capabilities.ts";
import { capabilitiesIn } from "../../access/capability-set.ts";
import type { ReadDb } from "../../db/store.ts";
import { isBelowColumn } from "../../db/uid-range.ts";
import { type HoltError, invalidArgument, notFound, permissionDenied } from "../../lib/errors.ts";
import { isInRoot, isUid, rootOf } from "../../lib/uid.ts";
import type { Caller } from "./authenticate.ts";
import type { Operation } from "./operation.ts";

/**
 * Throws unless the caller may run the operation. Unscoped operations always pass: their handlers answer only what the caller may see.
 * @returns undefined if the rights of the caller decide without the database
 */
export function authorize(operation: Operation, request: Message, caller: Caller, db: ReadDb): Promise<void> | undefined {
  const { access: rule } = operation;
  if (rule.mode !== "scoped") return undefined;
  const { scopeKind: kind, parentField } = rule;
  const uid = rule.scopeOf(request);
  if (!isUid(uid)) throw parentField === undefined ? notFound(kind, uid.slice(0, 200)) : invalidParent(parentField, kind, uid);
  if (caller.access.holds(rule.capabilities, uid)) return undefined;
  return assertReadsUser({ kind, uid }, { capabilities: rule.capabilities, writes: operation.writes }, caller, db);
}

/** The last way to be admitted: reading a user. */
async function assertReadsUser(
  target: Target,
  { capabilities, writes }: { readonly capabilities: bigint; readonly writes: boolean },
  caller: Caller,
  db: ReadDb,
): Promise<void> {
  if (!writes && (await mayReadUser(target.uid, capabilities, caller, db))) return;
  throw await refusal(target, capabilities, caller.access, db);
}

function invalidParent(field: string, kind: string, uid: string): HoltError {
  return invalidArgument(field, `"${uid.slice(0, 80)}" is not a valid uid${kind === "Group" ? " of a group" : ""}`);
}

/** Whether the caller may read an identity, given the capabilities that reading takes. Every caller may read itself. */
export async function mayReadIdentity(uid: string, capabilities: bigint, caller: Pick<Caller, "principal" | "access">, db: ReadDb) {
  return caller.principal?.uid === uid || caller.access.holds(capabilities, uid) || (await mayReadUser(uid, capabilities, caller, db));
}

/** The resource that a call acts on. */
export interface Target {
  /** Name of the resource in errors. */
  readonly kind: string;
  readonly uid: string;
}

/** For handlers that resolve their scope themselves. @throws PERMISSION_DENIED or NOT_FOUND unless the caller holds the capabilities */
export async function assertHolds(target: Target, capabilities: bigint, access: Access, db: ReadDb): Promise<void> {
  if (!access.holds(capabilities, target.uid)) throw await refusal(target, capabilities, access, db);
}

/**
 * If the root of the uid does not exist, there is nothing to protect, and the caller learns that the resource is missing. Below an
 * existing root the refusal is the same whether the uid exists or not.
 */
async function refusal({ kind, uid }: Target, capabilities: bigint, access: Access, db: ReadDb): Promise<HoltError> {
  if (!(await rootExists(rootOf(uid), db))) return notFound(kind, uid);
  const withheld = access.withheldAt(uid);
  if (withheld !== undefined) return policyRefusal(withheld, rootOf(uid));
  const missing = capabilitiesIn(capabilities & ~access.capabilitiesAt(uid)).map((capability) => capabilityName(capability));
  const names = missing.join(", ");
  return permissionDenied(`${names} ${missing.length === 1 ? "is" : "are"} needed at ${uid}`, { capability: names, resource: uid });
}

/** Says what the organization requires of a sign-in. The details name it, for programs that sign the person in again. */
function policyRefusal(problem: string, organization: string): HoltError {
  const text = `the sign-in of this session does not satisfy the organization ${organization}: ${problem}; sign in again`;
  return permissionDenied(text, { policy: problem, organization });
}

async function rootExists(uid: string, db: ReadDb): Promise<boolean> {
  for (const table of ["group", "role", "identity"] as const) {
    if ((await db.selectFrom(table).select("uid").where("uid", "=", uid).executeTakeFirst()) !== undefined) return true;
  }
  return false;
}

/**
 * A user identity stands in root, below no group. It can be read by itself, and from every group that it is bound in, once the user has
 * joined the organization.
 */
async function mayReadUser(
  uid: string,
  capabilities: bigint,
  { principal, access }: Pick<Caller, "principal" | "access">,
  db: ReadDb,
): Promise<boolean> {
  if (!isInRoot(uid)) return false;
  // A binding may name a uid before the identity exists. By its bindings alone, any other resource with that uid could be read.
  const identity = await db.selectFrom("identity").select("uid").where("uid", "=", uid).executeTakeFirst();
  if (identity === undefined) return false;
  if (principal?.uid === uid) return true;
  const bindings = await db
    .selectFrom("membership")
    .innerJoin("role_binding", (on) =>
      on.onRef("role_binding.identity_uid", "=", "membership.identity_uid").on(isBelowColumn("role_binding.uid", "membership.org_uid")),
    )
    .select("role_binding.parent")
    .distinct()
    .where("membership.identity_uid", "=", uid)
    .where("membership.state", "=", "joined")
    .execute();
  return bindings.some(({ parent }) => parent !== null && access.holds(capabilities, parent));
}
