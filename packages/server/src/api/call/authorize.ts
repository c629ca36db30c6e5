/** Whether the caller may run an operation, by its access rule and nothing else; and what a refusal may tell. */

import type { Message } from "@bufbuild/protobuf";
import { capabilityName } from "@holt/api";
import type { Access } from "../../access/capabilities.ts";
import { capabilitiesIn } from "../../access/capability-set.ts";
import type { ReadDb } from "../../db/store.ts";
import { type HoltError, invalidArgument, notFound, permissionDenied } from "../../lib/errors.ts";
import { isInRoot, isUid, rootOf } from "../../lib/uid.ts";
import type { Caller } from "./authenticate.ts";
import type { Operation } from "./operation.ts";

/** Throws unless the caller may. Unscoped operations always pass: their handlers answer only what the caller may see. */
export async function authorize(operation: Operation, request: Message, caller: Caller, db: ReadDb): Promise<void> {
  const { access: rule } = operation;
  if (rule.mode !== "scoped") return;
  const uid = rule.scopeOf(request);
  const isParent = "parent" in request || "parentId" in request;
  // Terms are of a group and have no uid of their own.
  const kind = isParent || "group" in request ? "Group" : operation.kind;
  if (!isUid(uid)) throw isParent ? noParent(operation, uid) : notFound(kind, uid.slice(0, 200));
  if (caller.access.holds(rule.capabilities, uid)) return;
  if (!operation.writes && (await mayReadUser(uid, rule.capabilities, caller, db))) return;
  throw await refusal(kind, uid, rule.capabilities, caller.access, db);
}

/** Version 1 has other words for it, and parents that are no groups. */
function noParent({ method }: Operation, uid: string): HoltError {
  const field = method.input.field.parentId === undefined ? "parent" : "parent_id";
  return invalidArgument(field, `"${uid.slice(0, 80)}" is not the uid of ${field === "parent" ? "a group" : "anything"}`);
}

/** Whether the caller may read an identity, by the capabilities that reading it takes. Everybody reads itself. */
export async function mayReadIdentity(uid: string, capabilities: bigint, caller: Pick<Caller, "principal" | "access">, db: ReadDb) {
  return caller.principal?.uid === uid || caller.access.holds(capabilities, uid) || (await mayReadUser(uid, capabilities, caller, db));
}

/** For handlers that resolve their scope themselves. `kind` is what a missing uid is called in the error. */
export async function assertHolds(kind: string, uid: string, capabilities: bigint, access: Access, db: ReadDb): Promise<void> {
  if (!access.holds(capabilities, uid)) throw await refusal(kind, uid, capabilities, access, db);
}

/**
 * Where nothing of that root exists there is nothing to protect, and the caller learns that it is missing. Below an
 * existing root a refusal is the same whether the uid exists or not.
 */
async function refusal(kind: string, uid: string, capabilities: bigint, access: Access, db: ReadDb): Promise<HoltError> {
  if (!(await rootExists(rootOf(uid), db))) return notFound(kind, uid);
  const missing = capabilitiesIn(capabilities & ~access.capabilitiesAt(uid)).map((capability) => capabilityName(capability));
  const names = missing.join(", ");
  return permissionDenied(`${names} ${missing.length === 1 ? "is" : "are"} needed at ${uid}`, { capability: names, resource: uid });
}

async function rootExists(uid: string, db: ReadDb): Promise<boolean> {
  for (const table of ["group", "role", "identity"] as const) {
    if ((await db.selectFrom(table).select("uid").where("uid", "=", uid).executeTakeFirst()) !== undefined) return true;
  }
  return false;
}

/** A user identity stands in root, under no group: it is seen by itself, and from every group where it is bound. */
async function mayReadUser(
  uid: string,
  capabilities: bigint,
  { principal, access }: Pick<Caller, "principal" | "access">,
  db: ReadDb,
): Promise<boolean> {
  if (!isInRoot(uid)) return false;
  // Bindings may name a uid before there is an identity, so theirs alone would open whatever else has that uid.
  const identity = await db.selectFrom("identity").select("uid").where("uid", "=", uid).executeTakeFirst();
  if (identity === undefined) return false;
  if (principal?.uid === uid) return true;
  const bindings = await db.selectFrom("role_binding").select("parent").distinct().where("identity_uid", "=", uid).execute();
  return bindings.some(({ parent }) => parent !== null && access.holds(capabilities, parent));
}
