/** Logs in with a token of this server, and lets the caller of any login assume another identity that accepts it. */
import type { ReadDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import type { Grants } from "../grants/grants.ts";
import { findIdentity } from "../identities/identity-record.ts";
import { assertSatisfiesPolicy } from "../policy/sign-in-policy.ts";
import type { AccessTokens } from "./access-token.ts";
import { type AudienceList, createAudienceList } from "./audience.ts";
import type { ParsedJwt } from "./jwt.ts";
import type { Login } from "./login.ts";
import { NOT_NARROWED } from "./narrowing.ts";
import { profileFromPrincipal } from "./subject.ts";
import type { WorkloadLogins } from "./workload-login.ts";

export interface OwnTokenParts {
  readonly accessTokens: AccessTokens;
  readonly grants: Grants;
  readonly workloads: WorkloadLogins;
  /** Audiences that Holt issues tokens for. Its own tokens with any of them can be exchanged. */
  readonly issuable: AudienceList;
}

/**
 * A Holt token logs in its own identity or one that accepts that identity. The new token is never wider than the old
 * one.
 * @throws UNAUTHENTICATED, PERMISSION_DENIED
 */
export async function loginWithOwnToken(
  token: ParsedJwt,
  identityUid: string,
  db: ReadDb,
  { accessTokens, grants, workloads, issuable }: OwnTokenParts,
): Promise<Login> {
  const principal = await accessTokens.verify(token.compact, issuable);
  if (!(await grants.loadSession(principal)).exists) throw unauthenticated("the identity of the token no longer exists");
  const uid = identityUid === "" ? principal.uid : identityUid;
  if (uid !== principal.uid) {
    workloads.assertAccepts(await findIdentity(db, uid), principal);
    await assertSatisfiesPolicy(db, uid, principal);
  }
  const { scopes, capabilities, within, expiry, audience, session, loginSession, auth } = principal;
  // Another service holds this token. It must not exchange it for a token for the API or for a third service.
  const isForApi = audience.some((each) => accessTokens.audiences.has(each));
  return {
    identityUid: uid,
    profile: profileFromPrincipal(principal),
    kind: "renewed",
    inherited: { scopes, capabilities, ...(within !== undefined && { within }) },
    notAfter: new Date(expiry * 1000),
    audiences: isForApi ? undefined : createAudienceList(audience),
    loginSession,
    auth,
    ...(uid === principal.uid && session !== undefined && { session }),
  };
}

/** @throws UNAUTHENTICATED, PERMISSION_DENIED */
export async function assumeIdentity(
  login: Login,
  identityUid: string,
  db: ReadDb,
  { accessTokens: { issuer }, grants, workloads }: OwnTokenParts,
): Promise<Login> {
  if (identityUid === "") return login;
  if (identityUid === login.identityUid) return { ...login, kind: "assumed" };
  const { session, registered, accountVersion: _version, ...rest } = login;
  const { identityUid: uid, loginSession } = login;
  const { exists } = await grants.loadSession({ uid, ...NOT_NARROWED, registered, loginSession });
  if (!exists) throw unauthenticated("the identity of the sign-in no longer exists, or was deactivated");
  const { actor, email, emailVerified } = login.profile;
  const claims = { uid, actor, issuer, audience: [issuer], email, emailVerified };
  workloads.assertAccepts(await findIdentity(db, identityUid), claims);
  await assertSatisfiesPolicy(db, identityUid, login);
  return { ...rest, identityUid, kind: "assumed" };
}
