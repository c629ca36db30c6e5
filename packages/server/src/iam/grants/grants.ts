/** Loads what identities may do and remembers it until it changes. What the bindings mean is capabilities.ts. */

import { Access, type Binding, grantsOf, NO_ACCESS } from "../../access/capabilities.ts";
import type { Principal, ProviderSession } from "../../access/principal.ts";
import { appendAccessChange } from "../../db/access-change.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { Lru } from "../../lib/lru.ts";
import { rootOf } from "../../lib/uid.ts";
import { deactivationsOf } from "../identities/scim-record.ts";
import { bindingsOfSession } from "../identities/session-mappings.ts";

/** An identity's standing: whether it exists, and all it may do. */
export interface Standing {
  /** Also false for whom a directory has deactivated, where nothing is left to it: see scim-record.ts. */
  readonly exists: boolean;
  readonly access: Access;
  /** Uids of the organizations whose directories have deactivated it: no right from anywhere holds in them. */
  readonly closed: ReadonlySet<string>;
}

/** Whose token it is, and what it leaves. */
export type Session = Pick<Principal, "uid" | "scopes" | "capabilities" | "within" | "session">;

export interface Grants {
  /** @param db the handle of the transaction the question is asked in, whose own writes must count; the cache has no part in it then */
  load(identityUid: string, db?: ReadDb): Promise<Standing>;
  /** The same for the bearer of a token: with what a sign-in by an identity provider gives beside the bindings, less what the token leaves out. */
  loadSession(session: Session, db?: ReadDb): Promise<Pick<Standing, "exists" | "access">>;
  /** Call it in the transaction that changes rights: bindings, roles, identities, what directories say of them. It takes effect with the commit, here and on all other servers. */
  changed(db: WriteDb, identityUids: readonly string[] | "*"): Promise<void>;
  /** Forgets what is remembered of them. */
  invalidate(identityUids: readonly string[] | "*"): void;
}

export interface GrantsOptions {
  readonly store: Store;
  /** False while other servers may have changed rights unseen: nothing remembered is used or kept then. Left out where there are no others. */
  readonly current?: () => boolean;
}

const MAX_CACHED = 20_000;

export function createGrants({ store, current = () => true }: GrantsOptions): Grants {
  const known = new Lru<string, Standing>(MAX_CACHED);
  /** Loads that are under way and that nothing has invalidated since they began. */
  const pending = new Map<string, Promise<Standing>>();

  function invalidate(identityUids: readonly string[] | "*"): void {
    if (identityUids === "*") {
      known.clear();
      pending.clear();
      return;
    }
    for (const uid of identityUids) {
      known.delete(uid);
      pending.delete(uid);
    }
  }
  /** Kept only if no invalidation came while it was loading: it may have read what was before. */
  function loadAndKeep(uid: string): Promise<Standing> {
    const loading = readStanding(store.reader, uid)
      .then((standing) => {
        if (pending.get(uid) === loading && current()) known.set(uid, standing);
        return standing;
      })
      .finally(() => {
        if (pending.get(uid) === loading) pending.delete(uid);
      });
    pending.set(uid, loading);
    return loading;
  }

  async function load(uid: string, db?: ReadDb): Promise<Standing> {
    if (db !== undefined) return readStanding(db, uid);
    if (!current()) {
      invalidate("*");
      return readStanding(store.reader, uid);
    }
    return known.get(uid) ?? (await (pending.get(uid) ?? loadAndKeep(uid)));
  }

  return {
    invalidate,
    load,
    async loadSession({ uid, scopes, capabilities, within, session }, db) {
      const standing = await load(uid, db);
      // What was begun at a provider ends with the account there.
      if (session !== undefined && standing.closed.has(rootOf(session.provider))) return { exists: false, access: NO_ACCESS };
      const access = session === undefined ? standing.access : await withMappings(standing, session, uid, db ?? store.reader);
      return { exists: standing.exists, access: access.narrowed(scopes, capabilities, within) };
    },
    async changed(db, identityUids) {
      await appendAccessChange(db, identityUids);
      db.afterCommit(() => invalidate(identityUids));
    },
  };
}

/** Remembered with the standing, and forgotten with it. Few sessions of one person differ in their mappings. */
const mapped = new WeakMap<Standing, Lru<string, Access>>();
const MAX_SESSIONS = 16;

async function withMappings(standing: Standing, session: ProviderSession, uid: string, db: ReadDb): Promise<Access> {
  if (session.mappings.length + session.directoryMappings.length === 0) return standing.access;
  const remembered = mapped.get(standing) ?? new Lru<string, Access>(MAX_SESSIONS);
  mapped.set(standing, remembered);
  const key = JSON.stringify(session);
  const access = remembered.get(key) ?? standing.access.and(await bindingsOfSession(db, session, uid));
  remembered.set(key, access);
  return access;
}

async function readStanding(db: ReadDb, uid: string): Promise<Standing> {
  const { exists, isProvisioned, bindings } = await readBindings(db, uid);
  const deactivations = isProvisioned ? await deactivationsOf(db, uid) : [];
  const closed = new Set(deactivations.map(({ organizationUid }) => organizationUid));
  const left = bindings.filter(({ groupUid }) => !closed.has(rootOf(groupUid)));
  const hasLeft = left.length === 0 && deactivations.some(({ hasLoggedIn }) => hasLoggedIn);
  return { exists: exists && !hasLeft, access: new Access(grantsOf(uid, left)), closed };
}

interface Known {
  readonly exists: boolean;
  /** Whether any directory knows it. */
  readonly isProvisioned: boolean;
  readonly bindings: readonly Binding[];
}

/** One statement, so one moment: an identity without bindings is one row, a missing one none. The oldest binding is first. */
async function readBindings(db: ReadDb, uid: string): Promise<Known> {
  const rows = await db
    .selectFrom("identity")
    .leftJoin("role_binding", "role_binding.identity_uid", "identity.uid")
    .leftJoin("role", "role.uid", "role_binding.role_uid")
    .select(["role_binding.parent as group", "role.capabilities as capabilities"])
    .select((eb) =>
      eb
        .selectFrom("scim_identity")
        .select("scim_identity.identity_uid")
        .whereRef("scim_identity.identity_uid", "=", "identity.uid")
        .limit(1)
        .as("provisioned"),
    )
    .where("identity.uid", "=", uid)
    .orderBy("role_binding.create_time")
    .orderBy("role_binding.uid")
    .execute();
  const bindings: Binding[] = [];
  for (const { group, capabilities } of rows) {
    if (group !== null && capabilities !== null) bindings.push({ groupUid: group, capabilities: BigInt(`0x${capabilities}`) });
  }
  return { exists: rows.length > 0, isProvisioned: (rows[0]?.provisioned ?? null) !== null, bindings };
}
