/** Computes what a pull token may do now: its own capabilities, as far as its creator still holds them. */
import { Access, NO_ACCESS } from "../../access/capabilities.ts";
import type { Principal } from "../../access/principal.ts";
import type { RepositoryLimit } from "../../access/repository-patterns.ts";
import { Lru } from "../../lib/lru.ts";
import type { SessionRights } from "../grants/grants.ts";
import { NOT_NARROWED } from "../tokens/narrowing.ts";
import type { Creator, PullTokenRecord } from "./pull-token-record.ts";

export const NO_RIGHTS: SessionRights = { exists: false, access: NO_ACCESS, registered: undefined };

/** Loads the present rights of an identity. */
export type LoadRights = (session: typeof NOT_NARROWED & Creator) => Promise<SessionRights>;

/** @returns `exists: false` for a token that has expired, or whose creator no longer exists */
export async function rightsOfPullToken(token: PullTokenRecord, now: Date, load: LoadRights): Promise<SessionRights> {
  if (token.expireTime <= now.toISOString()) return NO_RIGHTS;
  const { groupUid, capabilities, creator, repositories } = token;
  const limit = limitOf(token);
  const common = { registered: undefined, ...(repositories.length > 0 && { repositories: limit }) };
  if (creator === undefined) return { exists: true, access: new Access(new Map([[groupUid, capabilities]])), ...common };
  const { exists, access } = await load({ ...NOT_NARROWED, ...creator });
  return exists ? { exists, access: boundedAccess(access, token), ...common } : NO_RIGHTS;
}

/** Bounded rights, cached as long as the rights of the creator. Creating them takes time linear in its bindings. */
const bounded = new WeakMap<Access, Lru<string, Access>>();
const MAX_BOUNDED_PER_CREATOR = 256;

/** The capabilities of the token that the creator holds, at each place below the token's group. */
function boundedAccess(creator: Access, { groupUid, capabilities }: PullTokenRecord): Access {
  const known = bounded.get(creator) ?? new Lru<string, Access>(MAX_BOUNDED_PER_CREATOR);
  bounded.set(creator, known);
  const key = `${groupUid} ${capabilities}`;
  // A token is a workload: the memberships of its creator say nothing about it.
  const access = known.get(key) ?? new Access(new Map(creator.narrowed(undefined, capabilities, groupUid).entries()));
  known.set(key, access);
  return access;
}

function limitOf({ groupUid, repositories }: PullTokenRecord): RepositoryLimit {
  return { groupUid, patterns: repositories };
}

/** The present caller as the creator of a pull token. Rights from groups that its provider named end with its session. */
export function creatorFromPrincipal({ uid, registered, session }: Principal, registeredNow: string | undefined): Creator {
  const kept = session && { ...session, mappings: [] };
  const since = registered ?? registeredNow;
  return { uid, ...(since !== undefined && { registered: since }), ...(kept !== undefined && { session: kept }) };
}
