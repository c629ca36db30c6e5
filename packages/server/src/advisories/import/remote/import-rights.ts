/** Checks the rights of the identity that an import acts for: when the import begins and while it runs, so that lost rights end it. */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { Access } from "../../../access/capabilities.ts";
import { capabilitySet } from "../../../access/capability-set.ts";
import type { ReadDb } from "../../../db/store.ts";
import type { Grants, Session } from "../../../iam/grants/grants.ts";
import { isStaffAt } from "../../../iam/grants/staff.ts";
import type { AdvisoryImportTable } from "../../tables.ts";

const WRITE = capabilitySet([Capability.CAP_ADVISORIES_CREATE, Capability.CAP_ADVISORIES_UPDATE]);
const APPROVE = capabilitySet([Capability.CAP_ADVISORIES_APPROVE]);
const DELETE = capabilitySet([Capability.CAP_ADVISORIES_DELETE]);

export interface ImportRights {
  readonly mayImport: boolean;
  /** Whether imported events are approved. */
  readonly approves: boolean;
  /** Whether advisories that their source withdrew are deleted. */
  readonly mayDelete: boolean;
}

const NONE: ImportRights = { mayImport: false, approves: false, mayDelete: false };

/** Where records are imported, and of which kind. */
export type Destination = Pick<AdvisoryImportTable, "parent" | "kind">;

export interface RightsDependencies {
  readonly grants: Pick<Grants, "loadSession">;
  readonly bootstrapOwner: string;
}

export function rightsIn({ parent, kind }: Destination, session: Session, access: Access, bootstrapOwner: string): ImportRights {
  // Vulnerability metadata is the same for all organizations, so only staff imports it.
  const isAllowedKind = kind === "advisories" || isStaffAt(parent, session, access, bootstrapOwner);
  return {
    mayImport: isAllowedKind && access.holds(WRITE, parent),
    approves: access.holds(APPROVE, parent),
    mayDelete: access.holds(DELETE, parent),
  };
}

/** @param db of the transaction in which the rights are used, if there is one */
export async function rightsOf(
  destination: Destination,
  session: Session,
  { grants, bootstrapOwner }: RightsDependencies,
  db?: ReadDb,
): Promise<ImportRights> {
  const { exists, access } = await grants.loadSession(session, db);
  return exists ? rightsIn(destination, session, access, bootstrapOwner) : NONE;
}
