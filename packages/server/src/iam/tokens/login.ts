/**
 * Decides which identity a proof stands for, and whether the proof is valid. The rights of that identity are decided
 * elsewhere.
 */

import type { AuthContext, ProviderSession } from "../../access/principal.ts";
import type { ReadDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { isInRoot } from "../../lib/uid.ts";
import { findIdentityProvider } from "../identities/identity-provider-record.ts";
import { findIdentity } from "../identities/identity-record.ts";
import type { UserLogins } from "../identities/user-login.ts";
import type { AudienceList } from "./audience.ts";
import { loginWithAwsProof } from "./aws-login.ts";
import type { AwsProofs } from "./aws-proof.ts";
import { parseJwt } from "./jwt.ts";
import type { LoginTokens } from "./login-token.ts";
import type { Narrowing } from "./narrowing.ts";
import { assumeIdentity, loginWithOwnToken, type OwnTokenParts } from "./own-token-login.ts";
import type { RefreshGrant } from "./refresh-token.ts";
import type { SpendableToken } from "./spent-login-token.ts";
import type { Profile } from "./subject.ts";

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

export interface LoginsParts extends OwnTokenParts {
  readonly loginTokens: LoginTokens;
  readonly users: UserLogins;
  readonly awsProofs: AwsProofs;
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

export function createLogins(parts: LoginsParts): Logins {
  return {
    decide: (proof, wanted, now, db) => decide(proof, wanted, { now, db }, parts),
    assume: (login, identityUid, db) => assumeIdentity(login, identityUid, db, parts),
    resume: (identityUid, grant, db) => resume(identityUid, grant, db, parts),
  };
}

async function decide(
  proof: string,
  { identity: identityUid, identityProvider }: LoginTarget,
  { now, db }: { readonly now: Date; readonly db: ReadDb },
  parts: LoginsParts,
): Promise<Login> {
  const { accessTokens, loginTokens, users, workloads, awsProofs } = parts;
  const { issuer } = accessTokens;
  // A JWT has two dots, an AWS proof none.
  if (!proof.includes(".")) return loginWithAwsProof({ proof, identityUid }, now, db, { awsProofs, issuer });
  const token = parseJwt(proof);
  if (token.issuer === issuer && loginTokens.isLoginToken(token))
    return assumeIdentity(await loginTokens.verify(token, now), identityUid, db, parts);
  if (token.issuer === issuer) return loginWithOwnToken(token, identityUid, db, parts);
  if (identityUid === "") return users.login(token, identityProvider, now, db);
  if (isInRoot(identityUid)) return users.loginAs(token, { identityUid, providerUid: identityProvider }, now, db);
  return workloads.login(token, await findIdentity(db, identityUid), now);
}

async function resume(
  identityUid: string,
  { profile, narrowing, provider, loginSession, auth = defaultAuth(loginSession) }: RefreshGrant,
  db: ReadDb,
  parts: LoginsParts,
): Promise<Login> {
  const { iss = "", sub } = profile.actor;
  // This server itself has signed in the bootstrap owner, by a link.
  const isOwn = provider === undefined && iss === parts.accessTokens.issuer && sub === identityUid;
  if (!isOwn && !(await isStillTrusted(iss, provider, db, parts)))
    throw unauthenticated("users can no longer sign in with the issuer of this login");
  const session = provider === undefined ? undefined : { provider, mappings: [], directoryMappings: [] };
  const limits = { inherited: narrowing, notAfter: undefined, audiences: undefined };
  return { identityUid, profile, kind: "renewed", ...limits, session, loginSession, auth };
}

/** Whether users of the issuer, or of the organization's identity provider, may still sign in. */
async function isStillTrusted(
  issuer: string,
  provider: string | undefined,
  db: ReadDb,
  { accessTokens, users, hasLocalAccounts }: LoginsParts,
): Promise<boolean> {
  if (provider !== undefined) return (await findIdentityProvider(db, provider))?.issuer === issuer;
  return issuer === accessTokens.issuer ? hasLocalAccounts : users.trusts(issuer);
}

/** The methods of a login that stores none. Logins of the operator satisfy every policy; refresh tokens without a session satisfy none. */
function defaultAuth(loginSession: string | undefined): AuthContext | undefined {
  return loginSession === undefined ? { methods: [], isLocal: false } : undefined;
}
