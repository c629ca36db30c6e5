/** Public content as a resource: its kinds, and the capabilities that they give everybody. */
import { PublicContent_Kind as Kind, type PublicContent, PublicContentSchema } from "@holt/api/gen/holt/v1/public_content_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet, hexFromCapabilitySet } from "../../access/capability-set.ts";
import { ANONYMOUS_UID } from "../../access/principal.ts";
import { defineResource } from "../../api/resource/define.ts";
import { assertNone, descriptionViolations } from "../../api/resource/names.ts";
import { removeIfThere } from "../../api/resource/write.ts";
import type { WriteDb } from "../../db/store.ts";
import { alreadyExists, type FieldViolation } from "../../lib/errors.ts";
import type { Grants } from "../grants/grants.ts";

const CAPABILITIES: ReadonlyMap<Kind, bigint> = new Map([
  [
    Kind.IMAGES,
    capabilitySet([
      Capability.CAP_REPO_LIST,
      Capability.CAP_TAG_LIST,
      Capability.CAP_MANIFEST_LIST,
      Capability.CAP_REPO_BLOBS_GET,
      Capability.CAP_REFERRERS_LIST,
    ]),
  ],
  [Kind.PYTHON, capabilitySet([Capability.CAP_LIBRARIES_PYTHON_LIST])],
  [Kind.JAVA, capabilitySet([Capability.CAP_LIBRARIES_JAVA_LIST])],
]);

export const publicContent = defineResource(PublicContentSchema, {
  table: "public_content",
  columns: ({ kinds }) => ({ capabilities: hexFromCapabilitySet(capabilitiesOfKinds(kinds)) }),
  filters: {},
  orderBy: ["uid", "create_time", "update_time"],
  hasUidOfGroup: true,
  check: ({ kinds, description }) => assertNone([...descriptionViolations(description), ...kindViolations(kinds)]),
  nameTaken: ({ uid }) => alreadyExists("PublicContent", uid, "content of this group or repository is public already: update it"),
});

function kindViolations(kinds: PublicContent["kinds"]): FieldViolation[] {
  if (kinds.length === 0) return [{ field: "kinds", description: "kinds must have at least one element" }];
  if (new Set(kinds).size < kinds.length) return [{ field: "kinds", description: "kinds must not repeat an element" }];
  return kinds.every((kind) => CAPABILITIES.has(kind)) ? [] : [{ field: "kinds", description: "kinds has an unknown element" }];
}

export function capabilitiesOfKinds(kinds: PublicContent["kinds"]): bigint {
  return kinds.reduce((all, kind) => all | (CAPABILITIES.get(kind) ?? 0n), 0n);
}

/** Records that the rights of everybody change, with the commit of this transaction. */
export function recordPublicChange(db: WriteDb, grants: Pick<Grants, "recordChange">): Promise<void> {
  return grants.recordChange(db, [ANONYMOUS_UID]);
}

/** For a group or a repository that is deleted. */
export async function forgetPublicContent(uid: string, db: WriteDb, grants: Pick<Grants, "recordChange">): Promise<void> {
  if (await removeIfThere(publicContent, uid, db)) await recordPublicChange(db, grants);
}
