/**
 * Rules of the fields of an organization that only staff may set: verified, kind, and the status that follows. Folders inherit the last
 * two.
 */
import { enumFromJson, enumToJson } from "@bufbuild/protobuf";
import {
  type Group,
  GroupSchema,
  OrgKind,
  type OrgKindJson,
  OrgKindSchema,
  OrgStatus,
  type OrgStatusJson,
  OrgStatusSchema,
} from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { prepare } from "../../db/prepared.ts";
import type { WriteDb } from "../../db/store.ts";
import { failedPrecondition, invalidArgument, notFound, permissionDenied } from "../../lib/errors.ts";
import { compileJsonEncoder, messageFromJson } from "../../lib/proto-json.ts";
import { rangeBelow, rootOf } from "../../lib/uid.ts";
import { isStaff, type StaffCollaborators } from "./staff.ts";

/** Folders per statement. */
const BATCH = 500;

const encode = compileJsonEncoder(GroupSchema);

/**
 * Applies the rules of verified and kind to an organization, and sets the status that follows from them.
 * @param current the stored organization; an empty group for a new one
 */
export function applyStaffFields(next: Group, current: Group, call: WriteCall, collaborators: StaffCollaborators): void {
  const staff = isStaff(call, next.uid, collaborators);
  // Clients send whole resources: a false that only echoes a default is not a request to change it.
  if (!next.verified && current.verified && !staff) next.verified = true;
  if (!staff && next.verified !== current.verified)
    throw permissionDenied("only the operator may verify an organization", { capability: "internal" });
  if (!staff && next.kind !== current.kind)
    throw permissionDenied("only the operator may set the kind of an organization", { capability: "internal" });
  if (OrgKindSchema.value[next.kind] === undefined) throw invalidArgument("kind", `kind has no value ${next.kind}`);
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

/** A folder has the kind and the status of its organization, and is never verified itself. */
export function assertFolderFields(next: Group, current: Group): void {
  if (next.verified) throw invalidArgument("verified", "only an organization can be verified, not a folder in it");
  if (next.kind !== current.kind) throw invalidArgument("kind", "a folder has the kind of its organization");
}

/**
 * Locks the organization against changes, so that a change of its kind comes either before or after the new folder, and the
 * parent against deletion.
 * @throws NOT_FOUND if the parent does not exist
 */
export async function inheritKindAndStatus(folder: Group, parent: string, db: WriteDb): Promise<void> {
  const root = await rootAndParent.first(db, { root: rootOf(parent), parent });
  if (root === undefined) throw notFound("Group", parent);
  if (root.verified === 0) return;
  folder.kind = enumFromJson(OrgKindSchema, root.kind as OrgKindJson);
  folder.status = enumFromJson(OrgStatusSchema, root.status as OrgStatusJson);
}

const rootAndParent = prepare<{ root: string; parent: string }, { verified: number; kind: string; status: string }>((db, param) => {
  const both = db
    .selectFrom("group as root")
    .innerJoin("group as parent", (on) => on.onTrue())
    .select(["root.verified", "root.kind", "root.status"])
    .where("root.uid", "=", param("root"))
    .where("parent.uid", "=", param("parent"));
  // The root comes first: updates of organizations lock folders after it.
  return db.dialect.forKeyShare(db.dialect.forShare(both, "root"), "parent").compile();
});

/** Gives the kind and the status of an organization to all its folders. Their update times stay: nobody updated them. */
export async function shareKindAndStatus({ uid, kind, status }: Group, db: WriteDb): Promise<void> {
  const { lower, upper } = rangeBelow(uid);
  const others = db
    .selectFrom("group")
    .select(["uid", "body"])
    .where("uid", "<", upper)
    .where(({ or, eb }) => or([eb("kind", "<>", enumToJson(OrgKindSchema, kind)), eb("status", "<>", enumToJson(OrgStatusSchema, status))]))
    .orderBy("uid")
    .limit(BATCH);
  let from = lower;
  for (;;) {
    const folders = await db.dialect.forUpdate(others.where("uid", ">=", from)).execute();
    if (folders.length === 0) return;
    const changed = folders.map(({ uid, body }) => ({ uid, body: encode({ ...messageFromJson(GroupSchema, body), kind, status }) }));
    await db
      .updateTable("group")
      .from(db.dialect.rowsOf(changed, { uid: "text", body: "text" }).as("changed"))
      .set((eb) => ({ body: eb.ref("changed.body") }))
      .whereRef("group.uid", "=", "changed.uid")
      .execute();
    from = `${changed.at(-1)?.uid}/`;
  }
}
