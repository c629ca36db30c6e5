/** Logins of people, with a token of the issuer where they have their account. Workloads, which name the identity they want, are workload-login.ts. */
import type { ReadDb, Store } from "../../db/store.ts";
import { Code, HoltError, invalidArgument, unauthenticated } from "../../lib/errors.ts";
import type { Grants } from "../grants/grants.ts";
import { type AudienceList, audienceForms } from "../tokens/audience.ts";
import { refusal } from "../tokens/claim-match.ts";
import type { JwksCache } from "../tokens/jwks.ts";
import { audiencesOf, normalizeIssuer, type ParsedJwt, textClaim } from "../tokens/jwt.ts";
import type { Login } from "../tokens/login.ts";
import { verifyWithIssuer } from "../tokens/third-party-tokens.ts";
import { findIdentityProvidersOf, type IdentityProviderRecord } from "./identity-provider-record.ts";
import { findIdentity } from "./identity-record.ts";
import { accountAtOperator, accountAtProvider, type PersonAccount } from "./person-account.ts";
import { recordMembership, sessionOfAccount } from "./provider-membership.ts";
import { userIdentityUid } from "./user-identity.ts";

export interface UserLogins {
  /** Whether accounts of the issuer may register and sign in. */
  trusts(issuer: string): boolean;
  /**
   * The token must be of a trusted issuer, for a login client of Holt's or for Holt itself; or of an organization's identity provider, for the client
   * registered there.
   * @param providerUid of the identity provider that is meant; empty where none is named
   * @returns undefined for a token of an issuer that nobody here logs in with, which is not verified then
   * @throws UNAUTHENTICATED, INVALID_ARGUMENT
   */
  verify(token: ParsedJwt, providerUid: string, now: Date, db: ReadDb): Promise<PersonAccount | undefined>;
  /** @throws NOT_FOUND for who is not registered, or no longer trusted */
  login(token: ParsedJwt, providerUid: string, now: Date, db: ReadDb): Promise<Login>;
  /** The same for who names the identity. @throws PERMISSION_DENIED, in the same words where it does not exist */
  loginAs(token: ParsedJwt, identityUid: string, providerUid: string, now: Date, db: ReadDb): Promise<Login>;
}

export interface UserLoginsOptions {
  readonly store: Store;
  readonly grants: Grants;
  readonly jwks: JwksCache;
  /** Of this server. */
  readonly issuer: string;
  /** Client ids with which people log in at their issuers. */
  readonly clientIds: readonly string[];
  /** Issuers whose accounts may register and sign in. */
  readonly userIssuers: readonly string[];
}

export function createUserLogins({ store, grants, jwks, issuer, clientIds, userIssuers }: UserLoginsOptions): UserLogins {
  const trusted = new Set(userIssuers.map(normalizeIssuer));
  const audiences: AudienceList = new Set([...clientIds, ...audienceForms(issuer)]);

  async function verify(token: ParsedJwt, providerUid: string, now: Date, db: ReadDb): Promise<PersonAccount | undefined> {
    const ours = audiencesOf(token.claims).find((candidate) => audiences.has(candidate));
    const isTrusted = trusted.has(token.issuer);
    const isOperators = providerUid === "" && isTrusted && ours !== undefined;
    const provider = isOperators ? undefined : await findProvider(db, token, providerUid);
    // Other issuers may have been made up, and are not asked for keys.
    if (provider === undefined && !isTrusted) return undefined;
    const claims = await verifyWithIssuer(jwks, token, now);
    const subject = textClaim(claims, "sub") ?? "";
    if (subject === "") throw unauthenticated("the token names no subject");
    if (provider !== undefined) {
      const context = { issuer: token.issuer, subject, audience: provider.clientId };
      return accountAtProvider(claims, context, provider, true);
    }
    if (!isOperators) throw unauthenticated("the token is for another audience");
    return accountAtOperator(claims, { issuer: token.issuer, subject, audience: ours });
  }

  async function signIn(token: ParsedJwt, providerUid: string, now: Date, db: ReadDb): Promise<Login | undefined> {
    // Also for who is registered: the operator may have taken the issuer off the list.
    const account = await verify(token, providerUid, now, db);
    if (account === undefined || (await findIdentity(db, account.identityUid)) === undefined) return undefined;
    // Written before anything else is decided: what the directory says, and the rights of the session, depend on it.
    if (account.member !== undefined) await store.transaction((write) => recordMembership(write, account, now, grants));
    return loginOf(account, store.reader);
  }

  return {
    trusts: (tokenIssuer) => trusted.has(tokenIssuer),
    verify,
    async login(token, providerUid, now, db) {
      const login = await signIn(token, providerUid, now, db);
      if (login === undefined) throw unknownUser(accountOf(token), token.issuer);
      return login;
    },
    async loginAs(token, identityUid, providerUid, now, db) {
      const login = accountOf(token) === identityUid ? await signIn(token, providerUid, now, db) : undefined;
      if (login === undefined) throw refusal("iss");
      return { ...login, kind: "assumed" };
    },
  };
}

/** The login of an account whose identity exists, and whose membership is recorded. */
export async function loginOf(account: PersonAccount, db: ReadDb): Promise<Login> {
  const { identityUid, profile, within } = account;
  const session = await sessionOfAccount(db, account);
  return {
    identityUid,
    profile,
    kind: "user",
    inherited: { scopes: undefined, capabilities: undefined, ...(within !== undefined && { within }) },
    notAfter: undefined,
    audiences: undefined,
    session,
  };
}

/** The identity provider that made the token for its client, if there is one. @throws INVALID_ARGUMENT where there are several */
async function findProvider(db: ReadDb, token: ParsedJwt, uid: string): Promise<IdentityProviderRecord | undefined> {
  const all = await findIdentityProvidersOf(db, token.issuer, audiencesOf(token.claims));
  const meant = uid === "" ? all : all.filter((provider) => provider.uid === uid);
  if (meant.length > 1)
    throw invalidArgument(
      "identity_provider",
      "several identity providers have this issuer and client; name the one that is meant, or sign in with a browser",
    );
  return meant[0];
}

/** Whether anybody but the provider's organization relies on its issuer: the operator, or another organization. */
export async function isSharedIssuer(db: ReadDb, { issuer, organizationUid }: IdentityProviderRecord, users: UserLogins): Promise<boolean> {
  if (users.trusts(normalizeIssuer(issuer))) return true;
  return (await findIdentityProvidersOf(db, issuer)).some((other) => other.organizationUid !== organizationUid);
}

/** Whom the token speaks of, if it is genuine. */
function accountOf(token: ParsedJwt): string {
  return userIdentityUid(token.issuer, textClaim(token.claims, "sub") ?? "");
}

function unknownUser(uid: string, issuer: string): HoltError {
  const text = `Not found: nobody of issuer ${JSON.stringify(issuer)} with this subject is registered; register first, or name the identity to assume`;
  return new HoltError(Code.NOT_FOUND, text, { resource: { kind: "Identity", uid, domain: "iam" } });
}
