/** What only staff may say of an organization (verified, kind, and the status that follows), and how its folders inherit it. */
import { enumFromJson, enumToJson } from "@bufbuild/protobuf";
import {
  type Group,
  OrgKind,
  type OrgKindJson,
  OrgKindSchema,
  OrgStatus,
  type OrgStatusJson,
  OrgStatusSchema,
} from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { sql } from "kysely";
import type { WriteCall } from "../../api/call/call.ts";
import type { WriteDb } from "../../db/store.ts";
import { failedPrecondition, invalidArgument, permissionDenied } from "../../lib/errors.ts";
import { rangeBelow, rootOf } from "../../lib/uid.ts";
import { isStaff, type StaffCollaborators } from "./staff.ts";

/**
 * Holds what `next` says of verified and kind against the rules and sets the status that follows.
 * @param current what is stored; an empty group for one that is being made
 */
export function applyStaffFields(next: Group, current: Group, call: WriteCall, dependencies: StaffCollaborators): void {
  const staff = isStaff(call, next.uid, dependencies);
  // Clients send whole resources: a false that only echoes a default asks for nothing.
  if (!next.verified && current.verified && !staff) next.verified = true;
  if (!staff && next.verified !== current.verified)
    throw permissionDenied("only the operator may verify an organization", { capability: "internal" });
  if (!staff && next.kind !== current.kind)
    throw permissionDenied("only the operator may set the kind of an organization", { capability: "internal" });
  if (next.kind !== current.kind && next.kind !== OrgKind.UNSPECIFIED && !next.verified)
    throw invalidArgument("kind", "only a verified organization has a kind");
  if (next.verified && next.uid === "" && next.kind === OrgKind.UNSPECIFIED)
    throw invalidArgument("kind", "a verified organization needs a kind");
  if (current.verified && next.name !== current.name)
    throw failedPrecondition("ORGANIZATION_VERIFIED", "cannot rename a verified organization");
  if (!next.verified) next.kind = OrgKind.UNSPECIFIED;
  next.status = statusOf(next, current);
}

function statusOf(next: Group, current: Group): OrgStatus {
  if (!next.verified) return OrgStatus.UNSPECIFIED;
  return current.status === OrgStatus.UNSPECIFIED ? OrgStatus.READY : current.status;
}

/** A folder has its organization's kind and status and is never verified itself. */
export function assertFolderFields(next: Group, current: Group): void {
  if (next.verified) throw invalidArgument("verified", "only an organization can be verified, not a folder in it");
  if (next.kind !== current.kind) throw invalidArgument("kind", "a folder has the kind of its organization");
}

/** Locks the organization as it is, so that a change of its kind comes before or after the new folder and not between. */
export async function inheritKindAndStatus(folder: Group, parent: string, db: WriteDb): Promise<void> {
  const query = db.selectFrom("group").select(["verified", "body"]).where("uid", "=", rootOf(parent));
  const root = await db.dialect.forShare(query).executeTakeFirst();
  if (root === undefined || root.verified === 0) return;
  const { kind, status } = JSON.parse(root.body) as { kind: OrgKindJson; status: OrgStatusJson };
  folder.kind = enumFromJson(OrgKindSchema, kind);
  folder.status = enumFromJson(OrgStatusSchema, status);
}

/**
 * Gives an organization's new kind and status to its folders. They are the last two fields of a stored group, the same in
 * every folder, so one statement changes the end of each body: staff do this once in an organization's life.
 */
export async function shareKindAndStatus(before: Group, after: Group, db: WriteDb): Promise<void> {
  const [old, fresh] = [bodyEnd(before), bodyEnd(after)];
  const { lower, upper } = rangeBelow(after.uid);
  await db
    .updateTable("group")
    .set({ body: sql<string>`substr(body, 1, length(body) - ${sql.lit(old.length)}) || ${fresh}` })
    .where("uid", ">=", lower)
    .where("uid", "<", upper)
    .where(sql<boolean>`substr(body, length(body) - ${sql.lit(old.length - 1)}) = ${old}`)
    .execute();
}

function bodyEnd({ kind, status }: Group): string {
  return `"kind":${JSON.stringify(enumToJson(OrgKindSchema, kind))},"status":${JSON.stringify(enumToJson(OrgStatusSchema, status))}}`;
}
