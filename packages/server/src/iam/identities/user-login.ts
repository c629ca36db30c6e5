/**
 * Logs in people with a token of their issuer. Workloads, which name the identity they assume, are in
 * tokens/workload-login.ts.
 */
import { auditedStore } from "../../audit/append.ts";
import type { ReadDb, Store } from "../../db/store.ts";
import { Code, HoltError, invalidArgument, unauthenticated } from "../../lib/errors.ts";
import { resolveLinkedAccount } from "../accounts/account-links.ts";
import type { Grants } from "../grants/grants.ts";
import { audienceForms } from "../tokens/audience.ts";
import { claimMismatch } from "../tokens/claim-match.ts";
import type { JwksCache } from "../tokens/jwks.ts";
import { audiencesOf, clientAudienceOf, normalizeIssuer, type ParsedJwt, stringClaim } from "../tokens/jwt.ts";
import type { Login } from "../tokens/login.ts";
import { verifyWithIssuer } from "../tokens/third-party-tokens.ts";
import { findMatchingProviders, type IdentityProviderRecord, isIssuerOfOthers } from "./identity-provider-record.ts";
import { findIdentity } from "./identity-record.ts";
import { memberAccount, operatorAccount, type PersonAccount } from "./person-account.ts";
import { createProviderSession, recordMembership } from "./provider-membership.ts";
import { userIdentityUid } from "./user-identity.ts";

export interface UserLogins {
  /** Whether accounts of the issuer may register and sign in. */
  trusts(issuer: string): boolean;
  /**
   * Accepts tokens of a trusted issuer for Holt or one of its login clients, and tokens of an organization's identity
   * provider for the client registered there.
   * @param providerUid uid of the identity provider; empty if the caller names none
   * @returns undefined for an unverified token of an issuer that nobody logs in with
   * @throws UNAUTHENTICATED, INVALID_ARGUMENT
   */
  verify(token: ParsedJwt, providerUid: string, now: Date, db: ReadDb): Promise<PersonAccount | undefined>;
  /** @throws NOT_FOUND if the person is not registered or the issuer is no longer trusted */
  login(token: ParsedJwt, providerUid: string, now: Date, db: ReadDb): Promise<Login>;
  /**
   * As `login`, for a caller that names the identity.
   * @throws PERMISSION_DENIED with the same message if the identity does not exist
   */
  loginAs(token: ParsedJwt, target: { identityUid: string; providerUid: string }, now: Date, db: ReadDb): Promise<Login>;
}

export interface UserLoginsOptions {
  readonly store: Store;
  readonly grants: Grants;
  readonly jwks: JwksCache;
  /** Issuer of this server. */
  readonly issuer: string;
  /** Client IDs of Holt at the issuers that people log in with. */
  readonly clientIds: readonly string[];
  /** Issuers whose accounts may register and sign in. */
  readonly userIssuers: readonly string[];
}

/** Finds the person whom a token is about, and verifies the token. */
function createVerification({ jwks, issuer, clientIds, userIssuers }: UserLoginsOptions): Pick<UserLogins, "trusts" | "verify"> {
  const trusted = new Set(userIssuers.map(normalizeIssuer));
  const clients = new Set(clientIds);
  const server = new Set(audienceForms(issuer));
  const trusts = (tokenIssuer: string) => trusted.has(tokenIssuer);

  /** A token for this server itself may have been issued to any client. */
  function findOurAudience({ claims }: ParsedJwt): string | undefined {
    const client = clientAudienceOf(claims);
    return client !== undefined && clients.has(client) ? client : audiencesOf(claims).find((candidate) => server.has(candidate));
  }

  return {
    trusts,
    async verify(token, providerUid, now, db) {
      // Local accounts have this issuer. Only their own sign-in confirms them, and no token does.
      if (URL.parse(token.issuer)?.origin === issuer) return undefined;
      const ours = findOurAudience(token);
      const isTrusted = trusts(token.issuer);
      const isOperators = providerUid === "" && isTrusted && ours !== undefined;
      const provider = isOperators ? undefined : await findProvider(db, token, providerUid);
      // Unknown issuers may be invented and are never contacted.
      if (provider === undefined && !isTrusted) return undefined;
      const claims = await verifyWithIssuer(jwks, token, now);
      const subject = stringClaim(claims, "sub") ?? "";
      if (subject === "") throw unauthenticated("the token names no subject");
      if (provider !== undefined) {
        const context = { issuer: token.issuer, subject, audience: provider.clientId };
        const isShared = isTrusted || (await isSharedIssuer(db, provider, { trusts }));
        return resolveLinkedAccount(db, memberAccount(claims, context, provider, { isPresented: true, isShared }));
      }
      if (!isOperators) throw unauthenticated("the token is for another audience, or was issued to another client");
      return operatorAccount(claims, { issuer: token.issuer, subject, audience: ours });
    },
  };
}

export function createUserLogins(options: UserLoginsOptions): UserLogins {
  const { store, grants } = options;
  const { trusts, verify } = createVerification(options);

  /** The only change that a login notes is the default role that it gives. */
  function audited({ identityUid: actor, profile }: PersonAccount, { organizationUid }: IdentityProviderRecord, now: Date): Store {
    const about = { action: "default-role", actor, onBehalfOf: profile.actor, target: organizationUid, organization: organizationUid };
    return auditedStore(store, { ...about, outcome: "OK" }, () => now);
  }

  async function signIn(token: ParsedJwt, providerUid: string, now: Date, db: ReadDb): Promise<Login | undefined> {
    // Registered people are verified again: the operator may have stopped trusting the issuer.
    const account = await verify(token, providerUid, now, db);
    if (account === undefined || (await findIdentity(db, account.identityUid)) === undefined) return undefined;
    // Comes first, since the deactivation by a directory and the rights of the session depend on it.
    if (account.member !== undefined)
      await audited(account, account.member.provider, now).transaction((write) => recordMembership(write, account, now, grants));
    return loginFromAccount(account, store.reader);
  }

  return {
    trusts,
    verify,
    async login(token, providerUid, now, db) {
      const login = await signIn(token, providerUid, now, db);
      if (login === undefined) throw unknownUser(claimedIdentityUid(token), token.issuer);
      return login;
    },
    async loginAs(token, { identityUid, providerUid }, now, db) {
      const login = claimedIdentityUid(token) === identityUid ? await signIn(token, providerUid, now, db) : undefined;
      // A person who is linked with another account has to name that one.
      if (login?.identityUid !== identityUid) throw claimMismatch("iss");
      return { ...login, kind: "assumed" };
    },
  };
}

/** The account's identity must exist and its membership must be recorded. */
export async function loginFromAccount(account: PersonAccount, db: ReadDb): Promise<Login> {
  const { identityUid, profile, within, auth, accountVersion } = account;
  const session = await createProviderSession(db, account);
  const identity = await db.selectFrom("identity").select("create_time").where("uid", "=", identityUid).executeTakeFirst();
  return {
    identityUid,
    profile,
    kind: "user",
    inherited: { scopes: undefined, capabilities: undefined, ...(within !== undefined && { within }) },
    notAfter: undefined,
    audiences: undefined,
    session,
    auth,
    registered: identity?.create_time,
    accountVersion,
  };
}

/**
 * The identity provider that issued the token for its client, if there is one.
 * @throws INVALID_ARGUMENT if there are several
 */
async function findProvider(db: ReadDb, token: ParsedJwt, uid: string): Promise<IdentityProviderRecord | undefined> {
  const clientId = clientAudienceOf(token.claims);
  if (clientId === undefined) return undefined;
  const meant = await findMatchingProviders(db, { issuer: token.issuer, clientId, uid: uid === "" ? undefined : uid });
  if (meant.length > 1)
    throw invalidArgument(
      "identity_provider",
      "several identity providers have this issuer and client; name one of them, or sign in with a browser",
    );
  return meant[0];
}

/** Whether the operator or another organization also uses the provider's issuer. */
export async function isSharedIssuer(db: ReadDb, provider: IdentityProviderRecord, users: Pick<UserLogins, "trusts">): Promise<boolean> {
  return users.trusts(normalizeIssuer(provider.issuer)) || isIssuerOfOthers(db, provider);
}

/** Uid of the identity that the unverified token claims. */
function claimedIdentityUid(token: ParsedJwt): string {
  return userIdentityUid(token.issuer, stringClaim(token.claims, "sub") ?? "");
}

function unknownUser(uid: string, issuer: string): HoltError {
  const text =
    `Not found: no account of issuer ${JSON.stringify(issuer)} with this subject is registered; ` +
    "register first, or name the identity to assume";
  return new HoltError(Code.NOT_FOUND, text, { resource: { kind: "Identity", uid } });
}
