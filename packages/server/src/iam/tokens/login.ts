/**
 * Decides which identity a proof stands for, and whether the proof is valid. The rights of that identity are decided
 * elsewhere.
 */

import type { AuthContext, ProviderSession } from "../../access/principal.ts";
import type { ReadDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { isInRoot } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import { findIdentityProvider } from "../identities/identity-provider-record.ts";
import { findIdentity } from "../identities/identity-record.ts";
import type { UserLogins } from "../identities/user-login.ts";
import { assertSatisfiesPolicy } from "../policy/sign-in-policy.ts";
import type { AccessTokens } from "./access-token.ts";
import { type AudienceList, createAudienceList } from "./audience.ts";
import { assertAwsCallerMatches } from "./aws-match.ts";
import { AWS_STS_URL, type AwsProofs } from "./aws-proof.ts";
import { claimMismatch } from "./claim-match.ts";
import { type ParsedJwt, parseJwt } from "./jwt.ts";
import type { LoginTokens } from "./login-token.ts";
import { type Narrowing, NOT_NARROWED } from "./narrowing.ts";
import type { RefreshGrant } from "./refresh-token.ts";
import type { SpendableToken } from "./spent-login-token.ts";
import { type Profile, profileFromActor, profileFromPrincipal } from "./subject.ts";
import type { WorkloadLogins } from "./workload-login.ts";

export interface Login {
  readonly identityUid: string;
  readonly profile: Profile;
  /**
   * - `user`: a person logged in with an upstream issuer.
   * - `assumed`: the caller named the identity to assume.
   * - `renewed`: made from a Holt token or a refresh token.
   */
  readonly kind: "user" | "assumed" | "renewed";
  readonly inherited: Narrowing;
  /** Tokens made from the login must expire by this time. */
  readonly notAfter: Date | undefined;
  /** Audiences that tokens made from the login may have; undefined for all that Holt issues tokens for. */
  readonly audiences: AudienceList | undefined;
  /** The login token that the login was made from. An exchange spends it. */
  readonly loginToken?: SpendableToken | undefined;
  /** Session at an organization's identity provider; only if the login is for the person's own identity. */
  readonly session?: ProviderSession | undefined;
  /** Uid of the session that the login belongs to, if it has begun already. */
  readonly loginSession?: string | undefined;
  /** Methods of the person's sign-in. */
  readonly auth?: AuthContext | undefined;
  /** When the account was registered, as far as the login depends on it: it is void for an account that is registered anew. */
  readonly registered?: string | undefined;
  /** For an account of this server: its `update_time`. A later change, such as a recovery, voids the login. */
  readonly accountVersion?: string | undefined;
}

/** The identity that the caller wants to log in as. */
export interface LoginTarget {
  /** Uid of the requested identity; empty for the identity that the proof names. */
  readonly identity: string;
  /** Uid of the identity provider that issued the token; empty if none is named. */
  readonly identityProvider: string;
}

export interface LoginsOptions {
  readonly accessTokens: AccessTokens;
  readonly loginTokens: LoginTokens;
  readonly grants: Grants;
  readonly users: UserLogins;
  readonly workloads: WorkloadLogins;
  readonly awsProofs: AwsProofs;
  /** Audiences that Holt issues tokens for. Its own tokens with any of them can be exchanged. */
  readonly issuable: AudienceList;
  /** Whether people with accounts of this server's own may sign in. */
  readonly hasLocalAccounts: boolean;
}

export interface Logins {
  decide(proof: string, wanted: LoginTarget, now: Date, db: ReadDb): Promise<Login>;
  /**
   * Returns the same login, or a login as the named identity if that identity accepts it.
   * @throws PERMISSION_DENIED
   */
  assume(login: Login, identityUid: string, db: ReadDb): Promise<Login>;
  /**
   * Continues a user's login with a refresh token.
   * @throws UNAUTHENTICATED if users may no longer log in with its issuer
   */
  resume(identityUid: string, grant: RefreshGrant, db: ReadDb): Promise<Login>;
}

/** The methods of a login that stores none. Logins of the operator satisfy every policy; refresh tokens without a session satisfy none. */
function defaultAuth(loginSession: string | undefined): AuthContext | undefined {
  return loginSession === undefined ? { methods: [], isLocal: false } : undefined;
}

export function createLogins(options: LoginsOptions): Logins {
  const { accessTokens, loginTokens, grants, users, workloads, awsProofs, issuable, hasLocalAccounts } = options;

  /** Whether users of the issuer, or of the organization's identity provider, may still sign in. */
  async function isStillTrusted(issuer: string, provider: string | undefined, db: ReadDb): Promise<boolean> {
    if (provider !== undefined) return (await findIdentityProvider(db, provider))?.issuer === issuer;
    return issuer === accessTokens.issuer ? hasLocalAccounts : users.trusts(issuer);
  }

  async function loginWithAwsProof(proof: string, identityUid: string, now: Date, db: ReadDb): Promise<Login> {
    if (identityUid === "") throw unauthenticated("the token is not a JWT; an AWS proof also needs the uid of its identity");
    const request = awsProofs.check(proof, identityUid, now);
    const { relationship } = (await findIdentity(db, identityUid)) ?? {};
    if (relationship?.case !== "awsIdentity") throw claimMismatch("iss");
    const { account, arn, userId } = await awsProofs.fetchCaller(request);
    assertAwsCallerMatches(relationship.value, { account, arn, userId });
    const actor = { iss: AWS_STS_URL, sub: arn, aud: accessTokens.issuer, arn, account, user_id: userId };
    return {
      identityUid,
      profile: profileFromActor(actor),
      kind: "assumed",
      inherited: NOT_NARROWED,
      notAfter: undefined,
      audiences: undefined,
    };
  }

  /**
   * A Holt token logs in its own identity or one that accepts that identity. The new token is never wider than the old
   * one.
   */
  async function loginWithOwnToken(token: ParsedJwt, identityUid: string, db: ReadDb): Promise<Login> {
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

  async function assume(login: Login, identityUid: string, db: ReadDb): Promise<Login> {
    if (identityUid === "") return login;
    const { session, registered, accountVersion: _version, ...rest } = login;
    if (identityUid === login.identityUid) return { ...login, kind: "assumed" };
    const { exists } = await grants.loadSession({ uid: login.identityUid, ...NOT_NARROWED, registered, loginSession: login.loginSession });
    if (!exists) throw unauthenticated("the identity of the sign-in no longer exists, or was deactivated");
    const { actor, email, emailVerified } = login.profile;
    const { issuer } = accessTokens;
    const claims = { uid: login.identityUid, actor, issuer, audience: [issuer], email, emailVerified };
    workloads.assertAccepts(await findIdentity(db, identityUid), claims);
    await assertSatisfiesPolicy(db, identityUid, login);
    return { ...rest, identityUid, kind: "assumed" };
  }

  return {
    assume,
    async decide(proof, { identity: identityUid, identityProvider }, now, db) {
      // A JWT has two dots, an AWS proof none.
      if (!proof.includes(".")) return loginWithAwsProof(proof, identityUid, now, db);
      const token = parseJwt(proof);
      if (token.issuer === accessTokens.issuer && loginTokens.isLoginToken(token))
        return assume(await loginTokens.verify(token, now), identityUid, db);
      if (token.issuer === accessTokens.issuer) return loginWithOwnToken(token, identityUid, db);
      if (identityUid === "") return users.login(token, identityProvider, now, db);
      if (isInRoot(identityUid)) return users.loginAs(token, { identityUid, providerUid: identityProvider }, now, db);
      return workloads.login(token, await findIdentity(db, identityUid), now);
    },
    async resume(identityUid, { profile, narrowing, provider, loginSession, auth = defaultAuth(loginSession) }, db) {
      const { iss = "", sub } = profile.actor;
      // This server itself has signed in the bootstrap owner, by a link.
      const isOwn = provider === undefined && iss === accessTokens.issuer && sub === identityUid;
      if (!isOwn && !(await isStillTrusted(iss, provider, db)))
        throw unauthenticated("users can no longer sign in with the issuer of this login");
      const session = provider === undefined ? undefined : { provider, mappings: [], directoryMappings: [] };
      return {
        identityUid,
        profile,
        kind: "renewed",
        inherited: narrowing,
        notAfter: undefined,
        audiences: undefined,
        session,
        loginSession,
        auth,
      };
    },
  };
}
