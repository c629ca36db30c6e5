/** Adds the mapped groups of an identity-provider session to the rights of its identity. */
import type { Access } from "../../access/capabilities.ts";
import type { ProviderSession } from "../../access/principal.ts";
import type { ReadDb } from "../../db/store.ts";
import { Lru } from "../../lib/lru.ts";
import { rootOf } from "../../lib/uid.ts";
import { findSessionBindings } from "../identities/session-mappings.ts";
import type { IdentityRights } from "./identity-rights.ts";

/**
 * Rights including session mappings, cached as long as the rights of the identity. A person has few different sessions.
 */
const sessionAccess = new WeakMap<IdentityRights, Lru<string, Access>>();
const MAX_CACHED_SESSIONS = 16;

export async function addSessionMappings(standing: IdentityRights, session: ProviderSession, uid: string, db: ReadDb): Promise<Access> {
  if (session.mappings.length + session.directoryMappings.length === 0) return standing.access;
  if (standing.leftOrganizations.has(rootOf(session.provider))) return standing.access;
  const sessions = sessionAccess.get(standing) ?? new Lru<string, Access>(MAX_CACHED_SESSIONS);
  sessionAccess.set(standing, sessions);
  const key = JSON.stringify(session);
  const access = sessions.get(key) ?? standing.access.and(await findSessionBindings(db, session, uid));
  sessions.set(key, access);
  return access;
}
