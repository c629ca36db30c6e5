/** What the groups of an identity provider give for as long as a session lasts: read from its mappings, stored nowhere else. */

import type { Binding } from "../../access/capabilities.ts";
import type { ProviderSession } from "../../access/principal.ts";
import type { ReadDb } from "../../db/store.ts";
import { isAtOrBelow, rootOf } from "../../lib/uid.ts";
import type { IdentityProviderRecord } from "./identity-provider-record.ts";
import { scimGroupsOf } from "./scim-record.ts";

/** Tokens travel in headers. Of more mappings than these, the first by uid count. */
const MAX_MAPPINGS = 64;

/** The session of a login now. @param groups as the provider's token names them */
export async function mappedSession(
  db: ReadDb,
  { uid: provider, version }: Pick<IdentityProviderRecord, "uid" | "version">,
  identityUid: string,
  groups: readonly string[],
): Promise<ProviderSession> {
  const mappings = await mappingsOf(db, provider, groups);
  const byDirectory = await mappingsOf(db, provider, await directoryGroups(db, provider, identityUid));
  const directoryMappings = byDirectory.filter((uid) => !mappings.includes(uid));
  return { provider, version, mappings, directoryMappings: directoryMappings.slice(0, MAX_MAPPINGS - mappings.length) };
}

async function mappingsOf(db: ReadDb, provider: string, groups: readonly string[]): Promise<string[]> {
  const names = groups.filter((group) => !group.includes("\0"));
  if (names.length === 0) return [];
  const rows = await db
    .selectFrom("external_group_role_mapping")
    .innerJoin(db.dialect.valuesOf(names).as("wanted"), "wanted.value", "external_group_role_mapping.external_group")
    .select("external_group_role_mapping.uid")
    .distinct()
    .where("external_group_role_mapping.parent", "=", provider)
    .orderBy("external_group_role_mapping.uid")
    .limit(MAX_MAPPINGS)
    .execute();
  return rows.map(({ uid }) => uid);
}

async function directoryGroups(db: ReadDb, provider: string, identityUid: string): Promise<string[]> {
  const groups = await scimGroupsOf(db, identityUid);
  return groups.filter(({ idpUid }) => idpUid === provider).map(({ externalGroup }) => externalGroup);
}

/** What is left of the session's mappings while the provider signs in as it did: those that still are there, and of the directory's those whose group the person is still in. */
export async function bindingsOfSession(db: ReadDb, session: ProviderSession, identityUid: string): Promise<Binding[]> {
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
  const now = session.directoryMappings.length === 0 ? [] : await directoryGroups(db, session.provider, identityUid);
  return rows
    .filter(({ uid, group }) => session.mappings.includes(uid) || now.includes(group))
    .filter(({ scope }) => isAtOrBelow(scope, rootOf(session.provider)))
    .map(({ scope, capabilities }) => ({ groupUid: scope, capabilities: BigInt(`0x${capabilities}`) }));
}
