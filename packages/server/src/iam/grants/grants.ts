/** Loads and caches the rights of identities. How bindings turn into capabilities is in access/capabilities.ts. */

import { sql } from "kysely";
import { Access, type Binding, effectiveCapabilities, type Memberships, NO_ACCESS } from "../../access/capabilities.ts";
import { ANONYMOUS_UID, type Principal, type ProviderSession } from "../../access/principal.ts";
import type { RepositoryLimit } from "../../access/repository-patterns.ts";
import { appendAccessChange } from "../../db/access-change.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { Lru } from "../../lib/lru.ts";
import { type Meter, meterCache, noMeter } from "../../lib/meter.ts";
import { isInRoot, rootOf } from "../../lib/uid.ts";
import { voidRecoveryLinks } from "../accounts/recovery-links.ts";
import { findDeactivations } from "../identities/scim-record.ts";
import { findSessionBindings } from "../identities/session-mappings.ts";
import { createPolicyCache } from "../policy/policy-cache.ts";
import { readPublicAccess } from "../public-content/read-public-access.ts";
import { NO_RIGHTS, rightsOfPullToken } from "../pull-tokens/pull-token-access.ts";
import { findBySecret } from "../pull-tokens/pull-token-record.ts";
import { hasLoginSession } from "../sessions/login-session.ts";
import { bindingsFromRows } from "./binding-rows.ts";
import { readPendingBindings } from "./pending-bindings.ts";

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

const MAX_CACHED_IDENTITIES = 20_000;

export function createGrants({ store, clock = systemClock, meter = noMeter, current = () => true }: GrantsOptions): Grants {
  const cache = new Lru<string, IdentityRights>(MAX_CACHED_IDENTITIES);
  meterCache(meter, "rights", cache);
  /** Running loads that no invalidation has overtaken. */
  const pending = new Map<string, Promise<IdentityRights>>();
  const policies = createPolicyCache(store, current, meter);

  function invalidate(identityUids: readonly string[] | "*"): void {
    policies.invalidate(identityUids);
    if (identityUids === "*") {
      cache.clear();
      pending.clear();
      return;
    }
    for (const uid of identityUids) {
      cache.delete(uid);
      pending.delete(uid);
    }
  }
  /** Caches the result only if no invalidation came in between: the load may have read outdated rights. */
  function loadAndCache(uid: string): Promise<IdentityRights> {
    const loading = readRights(store.reader, uid)
      .then((standing) => {
        if (pending.get(uid) === loading && current()) cache.set(uid, standing);
        return standing;
      })
      .finally(() => {
        if (pending.get(uid) === loading) pending.delete(uid);
      });
    pending.set(uid, loading);
    return loading;
  }

  async function load(uid: string, db?: ReadDb): Promise<IdentityRights> {
    if (db !== undefined) return readRights(db, uid);
    if (!current()) {
      invalidate("*");
      return readRights(store.reader, uid);
    }
    return cache.get(uid) ?? (await (pending.get(uid) ?? loadAndCache(uid)));
  }

  async function loadPullToken(uid: string, secretId: string, db?: ReadDb): Promise<SessionRights> {
    const token = await findBySecret(db ?? store.reader, uid, secretId);
    if (token === undefined) return NO_RIGHTS;
    return rightsOfPullToken(token, clock.now(), (creator) => loadSession(creator, db));
  }

  async function loadSession(
    { uid, scopes, capabilities, within, session, registered, pullTokenSecret, loginSession, auth }: Session,
    db?: ReadDb,
  ): Promise<SessionRights> {
    if (pullTokenSecret !== undefined) return loadPullToken(uid, pullTokenSecret, db);
    // Read each time, so that the end of a session holds for the next request on every server.
    if (loginSession !== undefined && !(await hasLoginSession(db ?? store.reader, loginSession)))
      return { exists: false, access: NO_ACCESS, registered: undefined, isEnded: true };
    const standing = await load(uid, db);
    // The account of the token was deleted; the person has registered again under the same uid.
    if (registered !== undefined && registered !== standing.registered) return { exists: false, access: NO_ACCESS, registered: undefined };
    // A session ends when its provider's directory deactivates the account.
    if (session !== undefined && standing.closedOrganizations.has(rootOf(session.provider)))
      return { exists: false, access: NO_ACCESS, registered: undefined };
    const access = session === undefined ? standing.access : await addSessionMappings(standing, session, uid, db ?? store.reader);
    // Requirements of organizations for sign-ins of people. Workloads have none.
    const problems = isInRoot(uid) ? await policies.findProblems(access.organizations(), { auth, session }, db) : new Map();
    const narrowed = access.withholding(problems).narrowed(scopes, capabilities, within);
    return { exists: standing.exists, registered: standing.registered, access: narrowed };
  }

  function recallSession(session: Session): SessionRights | undefined {
    if (mustBeRead(session) || !current()) return undefined;
    const standing = cache.get(session.uid);
    if (standing === undefined || (session.registered !== undefined && session.registered !== standing.registered)) return undefined;
    const access = standing.access.narrowed(session.scopes, session.capabilities, session.within);
    return { exists: standing.exists, registered: standing.registered, access };
  }

  return {
    invalidate,
    load,
    loadWhenActive,
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

/**
 * Rights including session mappings, cached as long as the rights of the identity. A person has few different sessions.
 */
const sessionAccess = new WeakMap<IdentityRights, Lru<string, Access>>();
const MAX_CACHED_SESSIONS = 16;

async function addSessionMappings(standing: IdentityRights, session: ProviderSession, uid: string, db: ReadDb): Promise<Access> {
  if (session.mappings.length + session.directoryMappings.length === 0) return standing.access;
  if (standing.leftOrganizations.has(rootOf(session.provider))) return standing.access;
  const sessions = sessionAccess.get(standing) ?? new Lru<string, Access>(MAX_CACHED_SESSIONS);
  sessionAccess.set(standing, sessions);
  const key = JSON.stringify(session);
  const access = sessions.get(key) ?? standing.access.and(await findSessionBindings(db, session, uid));
  sessions.set(key, access);
  return access;
}

async function readRights(db: ReadDb, uid: string): Promise<IdentityRights> {
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

async function loadWhenActive(uid: string, db: ReadDb): Promise<Access> {
  const { bindings, memberships } = await readStoredRights(db, uid);
  return new Access(effectiveCapabilities(uid, bindings), memberships);
}

interface StoredRights extends StoredBindings {
  /** Undefined for a workload. */
  readonly memberships: Memberships | undefined;
}

/** Includes pending bindings, and those that a disabled account or a directory makes ineffective. */
async function readStoredRights(db: ReadDb, uid: string): Promise<StoredRights> {
  const isPerson = isInRoot(uid);
  // Pending bindings come first: if the person joins in between, a binding is read twice instead of never.
  const pending = isPerson ? await readPendingBindings(db, uid) : [];
  const stored = await readBindings(db, uid);
  const memberships = isPerson ? await readMemberships(db, uid) : undefined;
  return { ...stored, bindings: [...stored.bindings, ...pending], memberships };
}

/** Exists while any content is public. */
async function readRightsOfEverybody(db: ReadDb): Promise<IdentityRights> {
  const access = await readPublicAccess(db);
  const nothing: ReadonlySet<string> = new Set();
  return { exists: access.hasAny(), access, registered: undefined, closedOrganizations: nothing, leftOrganizations: nothing };
}

interface StoredBindings {
  readonly exists: boolean;
  /** When the identity was created; undefined if it does not exist. */
  readonly createTime: string | undefined;
  /** Whether any directory knows the identity. */
  readonly isProvisioned: boolean;
  /** Whether an administrator disabled the local account of the person. */
  readonly isDisabled: boolean;
  readonly bindings: readonly Binding[];
}

/**
 * The bindings of a workload, or those of a person in organizations that the person has joined; oldest first. One
 * statement, for a consistent read. An identity without bindings yields one row, a missing identity none.
 */
async function readBindings(db: ReadDb, uid: string): Promise<StoredBindings> {
  const rows = await db
    .selectFrom("identity")
    .leftJoin(boundIdentities(uid), "bound.uid", "identity.uid")
    .leftJoin("role_binding", (on) =>
      on
        .onRef("role_binding.identity_uid", "=", "bound.uid")
        .on(sql<boolean>`role_binding.uid >= bound.lower`)
        .on(sql<boolean>`role_binding.uid < bound.upper`),
    )
    .leftJoin("role", "role.uid", "role_binding.role_uid")
    .select(["identity.create_time as createTime", "role_binding.parent as group", "role.capabilities as capabilities"])
    .select((eb) =>
      eb
        .selectFrom("scim_identity")
        .select("scim_identity.identity_uid")
        .whereRef("scim_identity.identity_uid", "=", "identity.uid")
        .limit(1)
        .as("provisioned"),
    )
    .select((eb) =>
      eb
        .selectFrom("local_account")
        .select("local_account.disabled_time")
        .whereRef("local_account.identity_uid", "=", "identity.uid")
        .as("disabled"),
    )
    .where("identity.uid", "=", uid)
    .orderBy("role_binding.create_time")
    .orderBy("role_binding.uid")
    .execute();
  const [first] = rows;
  const isProvisioned = (first?.provisioned ?? null) !== null;
  const isDisabled = (first?.disabled ?? null) !== null;
  return { exists: first !== undefined, createTime: first?.createTime, isProvisioned, isDisabled, bindings: bindingsFromRows(rows) };
}

/** Ranges of uids in which bindings of the identity count: an organization that a person has joined, or a workload's own. */
function boundIdentities(uid: string) {
  const range = sql<{ uid: string; lower: string; upper: string }>;
  const ranges = isInRoot(uid)
    ? range`(select identity_uid as uid, org_uid || '/' as lower, org_uid || '0' as upper from membership where identity_uid = ${uid} and state = 'joined')`
    : range`(select cast(${uid} as text) as uid, cast(${rootOf(uid)} as text) || '/' as lower, cast(${rootOf(uid)} as text) || '0' as upper)`;
  return ranges.as<"bound">("bound");
}

async function readMemberships(db: ReadDb, uid: string): Promise<Memberships> {
  const rows = await db
    .selectFrom("membership")
    .select(["org_uid", "state"])
    .where("identity_uid", "=", uid)
    .where("state", "in", ["joined", "left"])
    .execute();
  const inState = (wanted: string) => new Set(rows.filter(({ state }) => state === wanted).map(({ org_uid }) => org_uid));
  return { joined: inState("joined"), left: inState("left") };
}
