/** Decides what an identity may do, from its bindings, its directories and its account. rights-cache.ts keeps the result. */
import { Access, effectiveCapabilities } from "../../access/capabilities.ts";
import { ANONYMOUS_UID } from "../../access/principal.ts";
import type { ReadDb } from "../../db/store.ts";
import { isInRoot, rootOf } from "../../lib/uid.ts";
import { findDeactivations } from "../identities/scim-record.ts";
import { readPublicAccess } from "../public-content/read-public-access.ts";
import { readStoredRights } from "./stored-rights.ts";

/** Whether an identity exists, and everything it may do. */
export interface IdentityRights {
  /**
   * Also false if a directory deactivated the identity and it has no rights left, see `findDeactivations`, and for a
   * disabled local account.
   */
  readonly exists: boolean;
  readonly access: Access;
  /** For a person: when the account was registered. */
  readonly registered: string | undefined;
  /** Uids of the organizations whose directories deactivated the identity. It has no rights there, from any source. */
  readonly closedOrganizations: ReadonlySet<string>;
  /** Uids of the organizations that a person has left. The person has no rights there, from any source. */
  readonly leftOrganizations: ReadonlySet<string>;
}

export async function readRights(db: ReadDb, uid: string): Promise<IdentityRights> {
  if (uid === ANONYMOUS_UID) return readRightsOfEverybody(db);
  const { exists, createTime, isProvisioned, isDisabled, bindings, memberships } = await readStoredRights(db, uid);
  const deactivations = isProvisioned ? await findDeactivations(db, uid) : [];
  const closedOrganizations = new Set(deactivations.map(({ organizationUid }) => organizationUid));
  const remaining = bindings.filter(({ groupUid }) => !closedOrganizations.has(rootOf(groupUid)));
  const isDeactivated = remaining.length === 0 && deactivations.some(({ hasLoggedIn }) => hasLoggedIn);
  const access = new Access(effectiveCapabilities(uid, exists && !isDisabled ? remaining : []), memberships);
  const registered = isInRoot(uid) ? createTime : undefined;
  const leftOrganizations = memberships?.left ?? new Set();
  return { exists: exists && !isDeactivated && !isDisabled, access, registered, closedOrganizations, leftOrganizations };
}

/** The rights that an identity has as soon as its account is enabled and no directory deactivates it. */
export async function readAccessWhenActive(uid: string, db: ReadDb): Promise<Access> {
  const { bindings, memberships } = await readStoredRights(db, uid);
  return new Access(effectiveCapabilities(uid, bindings), memberships);
}

/** Exists while any content is public. */
async function readRightsOfEverybody(db: ReadDb): Promise<IdentityRights> {
  const access = await readPublicAccess(db);
  const nothing: ReadonlySet<string> = new Set();
  return { exists: access.hasAny(), access, registered: undefined, closedOrganizations: nothing, leftOrganizations: nothing };
}
