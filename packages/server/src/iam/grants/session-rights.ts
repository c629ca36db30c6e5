/** Reads the rights of a token's bearer: those of its identity, with what the session adds and what the token leaves out. */
import type { ReadDb, Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { isInRoot, rootOf } from "../../lib/uid.ts";
import type { PolicyCache } from "../policy/policy-cache.ts";
import { NO_RIGHTS, rightsOfPullToken } from "../pull-tokens/pull-token-access.ts";
import { findBySecret } from "../pull-tokens/pull-token-record.ts";
import { hasLoginSession } from "../sessions/login-session.ts";
import type { Grants, Session, SessionRights } from "./grants.ts";
import { addSessionMappings } from "./session-access.ts";

export interface SessionRightsParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly policies: PolicyCache;
  readonly load: Grants["load"];
}

export function createSessionRights({ store, clock, policies, load }: SessionRightsParts): Grants["loadSession"] {
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
    if (loginSession !== undefined && !(await hasLoginSession(db ?? store.reader, loginSession))) return { ...NO_RIGHTS, isEnded: true };
    const standing = await load(uid, db);
    // The account of the token was deleted; the person has registered again under the same uid.
    if (registered !== undefined && registered !== standing.registered) return NO_RIGHTS;
    // A session ends when its provider's directory deactivates the account.
    if (session !== undefined && standing.closedOrganizations.has(rootOf(session.provider))) return NO_RIGHTS;
    const access = session === undefined ? standing.access : await addSessionMappings(standing, session, uid, db ?? store.reader);
    // Requirements of organizations for sign-ins of people. Workloads have none.
    const problems = isInRoot(uid) ? await policies.findProblems(access.organizations(), { auth, session }, db) : new Map();
    const narrowed = access.withholding(problems).narrowed(scopes, capabilities, within);
    return { exists: standing.exists, registered: standing.registered, access: narrowed };
  }

  return loadSession;
}
