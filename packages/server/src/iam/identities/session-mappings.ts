/**
 * Maps the groups of an identity provider to roles for the duration of a session. Only the mappings' uids are kept in
 * the session; roles are read on every request.
 */

import type { Binding } from "../../access/capabilities.ts";
import type { ProviderSession } from "../../access/principal.ts";
import type { ReadDb } from "../../db/store.ts";
import { isAtOrBelow, rootOf } from "../../lib/uid.ts";
import type { IdentityProviderRecord } from "./identity-provider-record.ts";
import { findScimGroups } from "./scim-record.ts";

/** Tokens travel in headers, whose size is limited. If there are more mappings, the first by uid are used. */
const MAX_MAPPINGS_PER_SESSION = 64;

/**
 * The session of a new login.
 * @param groups names of the groups, as in the provider's token
 */
export async function createMappedSession(
  db: ReadDb,
  { uid: provider, version }: Pick<IdentityProviderRecord, "uid" | "version">,
  identityUid: string,
  groups: readonly string[],
): Promise<ProviderSession> {
  const mappings = await findMappings(db, provider, groups);
  const byDirectory = await findMappings(db, provider, await findDirectoryGroups(db, provider, identityUid));
  const directoryMappings = byDirectory.filter((uid) => !mappings.includes(uid));
  return { provider, version, mappings, directoryMappings: directoryMappings.slice(0, MAX_MAPPINGS_PER_SESSION - mappings.length) };
}

async function findMappings(db: ReadDb, provider: string, groups: readonly string[]): Promise<string[]> {
  const names = groups.filter((group) => !group.includes("\0"));
  if (names.length === 0) return [];
  const rows = await db
    .selectFrom("external_group_role_mapping")
    .innerJoin(db.dialect.valuesOf(names).as("wanted"), "wanted.value", "external_group_role_mapping.external_group")
    .select("external_group_role_mapping.uid")
    .distinct()
    .where("external_group_role_mapping.parent", "=", provider)
    .orderBy("external_group_role_mapping.uid")
    .limit(MAX_MAPPINGS_PER_SESSION)
    .execute();
  return rows.map(({ uid }) => uid);
}

async function findDirectoryGroups(db: ReadDb, provider: string, identityUid: string): Promise<string[]> {
  const groups = await findScimGroups(db, identityUid);
  return groups.filter(({ idpUid }) => idpUid === provider).map(({ externalGroup }) => externalGroup);
}

/**
 * The bindings that the session's mappings give now. A mapping counts only while it exists, the provider still has the
 * version that the session began with, and, for directory groups, the person is still in the group.
 */
export async function findSessionBindings(db: ReadDb, session: ProviderSession, identityUid: string): Promise<Binding[]> {
  const wanted = [...session.mappings, ...session.directoryMappings];
  if (wanted.length === 0 || session.version === undefined) return [];
  const rows = await db
    .selectFrom("external_group_role_mapping")
    .innerJoin("identity_provider", "identity_provider.uid", "external_group_role_mapping.parent")
    .innerJoin(db.dialect.valuesOf(wanted).as("wanted"), "wanted.value", "external_group_role_mapping.uid")
    .innerJoin("role", "role.uid", "external_group_role_mapping.role_uid")
    .select(["external_group_role_mapping.uid", "external_group as group", "scope", "role.capabilities as capabilities"])
    .where("identity_provider.uid", "=", session.provider)
    .where("identity_provider.version", "=", session.version)
    .execute();
  const now = session.directoryMappings.length === 0 ? [] : await findDirectoryGroups(db, session.provider, identityUid);
  return rows
    .filter(({ uid, group }) => session.mappings.includes(uid) || now.includes(group))
    .filter(({ scope }) => isAtOrBelow(scope, rootOf(session.provider)))
    .map(({ scope, capabilities }) => ({ groupUid: scope, capabilities: BigInt(`0x${capabilities}`) }));
}
