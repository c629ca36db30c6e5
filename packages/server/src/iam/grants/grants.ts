/** Answers which rights a token's bearer has now. How bindings turn into capabilities is in access/capabilities.ts. */
import type { Access } from "../../access/capabilities.ts";
import type { Principal } from "../../access/principal.ts";
import type { RepositoryLimit } from "../../access/repository-patterns.ts";
import { appendAccessChange } from "../../db/access-change.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { type Meter, noMeter } from "../../lib/meter.ts";
import { voidRecoveryLinks } from "../accounts/recovery-links.ts";
import { createPolicyCache } from "../policy/policy-cache.ts";
import { type IdentityRights, readAccessWhenActive, readRights } from "./identity-rights.ts";
import { createRightsCache } from "./rights-cache.ts";
import { createSessionRights } from "./session-rights.ts";

/** The identity of a token, the token's limits and its identity-provider session. */
export type Session = Pick<
  Principal,
  "uid" | "scopes" | "capabilities" | "within" | "session" | "registered" | "pullTokenSecret" | "loginSession" | "auth"
>;

/** The rights of a token's bearer. */
export interface SessionRights extends Pick<IdentityRights, "exists" | "access" | "registered"> {
  /** For a pull token: the only repositories where the rights hold; undefined for all. */
  readonly repositories?: RepositoryLimit | undefined;
  /** True if the session of the token was ended; then `exists` is false. */
  readonly isEnded?: boolean;
}

export interface Grants {
  /** @param db handle of a transaction whose own writes must be visible; bypasses the cache */
  load(identityUid: string, db?: ReadDb): Promise<IdentityRights>;
  /** The rights that an identity has as soon as its account is enabled and no directory deactivates it. Bypasses the cache. */
  loadWhenActive(identityUid: string, db: ReadDb): Promise<Access>;
  /**
   * The rights of a token's bearer: the identity's rights, plus the mapped groups of its session, limited by the token.
   * A pull token is read each time and never cached, so that its revocation holds for the next request on every server.
   */
  loadSession(session: Session, db?: ReadDb): Promise<SessionRights>;
  /** As `loadSession`, for an identity whose rights are in the cache. Undefined if anything else has to be read. */
  recallSession(session: Session): SessionRights | undefined;
  /**
   * Records that rights change. Call it in the transaction that changes bindings, roles, identities or a directory.
   * Takes effect with the commit on this server, and within a second on all others. Uids of organizations stand for
   * their policies.
   */
  recordChange(db: WriteDb, identityUids: readonly string[] | "*"): Promise<void>;
  /** Drops the identities from the cache of this server. */
  invalidate(identityUids: readonly string[] | "*"): void;
}

export interface GrantsOptions {
  readonly store: Store;
  readonly clock?: Clock;
  readonly meter?: Meter;
  /**
   * Returns false while this server may have missed changes of other servers; the cache is not used then. Left out if
   * there are no other servers.
   */
  readonly current?: () => boolean;
}

export function createGrants({ store, clock = systemClock, meter = noMeter, current = () => true }: GrantsOptions): Grants {
  const rights = createRightsCache(store.reader, current, meter);
  const policies = createPolicyCache(store, current, meter);

  function invalidate(identityUids: readonly string[] | "*"): void {
    policies.invalidate(identityUids);
    rights.invalidate(identityUids);
  }

  async function load(uid: string, db?: ReadDb): Promise<IdentityRights> {
    if (db !== undefined) return readRights(db, uid);
    if (!current()) {
      invalidate("*");
      return readRights(store.reader, uid);
    }
    return rights.get(uid) ?? (await rights.load(uid));
  }

  const loadSession = createSessionRights({ store, clock, policies, load });

  function recallSession(session: Session): SessionRights | undefined {
    if (mustBeRead(session) || !current()) return undefined;
    const standing = rights.get(session.uid);
    if (standing === undefined || (session.registered !== undefined && session.registered !== standing.registered)) return undefined;
    const access = standing.access.narrowed(session.scopes, session.capabilities, session.within);
    return { exists: standing.exists, registered: standing.registered, access };
  }

  return {
    invalidate,
    load,
    loadWhenActive: readAccessWhenActive,
    loadSession,
    recallSession,
    async recordChange(db, identityUids) {
      await appendAccessChange(db, identityUids);
      await voidRecoveryLinks(db, identityUids);
      db.afterCommit(() => invalidate(identityUids));
    },
  };
}

/** Whether the rights of a session depend on more than those of its identity: its own state, a provider, or the policies of organizations. */
function mustBeRead({ session, pullTokenSecret, loginSession, auth }: Session): boolean {
  return session !== undefined || pullTokenSecret !== undefined || loginSession !== undefined || auth !== undefined;
}
