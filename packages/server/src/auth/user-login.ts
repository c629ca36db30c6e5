/** Logins of people, with a token of the issuer where they have their account. Workloads, which name the identity they want, are workload-login.ts. */
import type { ReadDb } from "../db/store.ts";
import { Code, HoltError, unauthenticated } from "../lib/errors.ts";
import { type AudienceList, audienceForms } from "./audience.ts";
import { refusal } from "./claim-match.ts";
import { findIdentity } from "./identity-record.ts";
import type { JwksCache } from "./jwks.ts";
import { audiencesOf, normalizeIssuer, type ParsedJwt, textClaim } from "./jwt.ts";
import type { Login } from "./login.ts";
import { NOT_NARROWED } from "./narrowing.ts";
import { type Profile, profileOfPerson } from "./subject.ts";
import { verifyWithIssuer } from "./third-party-tokens.ts";
import { userIdentityUid } from "./user-identity.ts";

export interface UserLogins {
  /** Whether accounts of the issuer may register and sign in. */
  trusts(issuer: string): boolean;
  /** The token must be of a trusted issuer, for a login client of Holt's or for Holt itself. @throws UNAUTHENTICATED */
  verify(token: ParsedJwt, now: Date): Promise<{ readonly subject: string; readonly profile: Profile }>;
  /** @throws NOT_FOUND for who is not registered, or no longer trusted */
  login(token: ParsedJwt, now: Date, db: ReadDb): Promise<Login>;
  /** The same for who names the identity. @throws PERMISSION_DENIED, in the same words where it does not exist */
  loginAs(token: ParsedJwt, identityUid: string, now: Date, db: ReadDb): Promise<Login>;
}

export interface UserLoginsOptions {
  readonly jwks: JwksCache;
  /** Of this server. */
  readonly issuer: string;
  /** Client ids with which people log in at their issuers. */
  readonly clientIds: readonly string[];
  /** Issuers whose accounts may register and sign in. */
  readonly userIssuers: readonly string[];
}

export function createUserLogins({ jwks, issuer, clientIds, userIssuers }: UserLoginsOptions): UserLogins {
  const trusted = new Set(userIssuers.map(normalizeIssuer));
  const audiences: AudienceList = new Set([...clientIds, ...audienceForms(issuer)]);

  async function verify(token: ParsedJwt, now: Date): Promise<{ subject: string; profile: Profile }> {
    const claims = await verifyWithIssuer(jwks, token, now);
    const subject = textClaim(claims, "sub") ?? "";
    if (subject === "") throw unauthenticated("the token names no subject");
    const audience = audiencesOf(claims).find((candidate) => audiences.has(candidate));
    if (audience === undefined) throw unauthenticated("the token is for another audience");
    return { subject, profile: profileOfPerson(claims, token.issuer, audience) };
  }

  async function signIn(token: ParsedJwt, now: Date, db: ReadDb): Promise<Login | undefined> {
    // Also for who is registered: the operator may have taken the issuer off the list. Others may have been made up, and are not asked for keys.
    if (!trusted.has(token.issuer)) return undefined;
    const { subject, profile } = await verify(token, now);
    const identityUid = userIdentityUid(token.issuer, subject);
    if ((await findIdentity(db, identityUid)) === undefined) return undefined;
    return { identityUid, profile, kind: "user", inherited: NOT_NARROWED, notAfter: undefined, audiences: undefined };
  }

  return {
    trusts: (tokenIssuer) => trusted.has(tokenIssuer),
    verify,
    async login(token, now, db) {
      const login = await signIn(token, now, db);
      if (login === undefined) throw unknownUser(accountOf(token), token.issuer);
      return login;
    },
    async loginAs(token, identityUid, now, db) {
      const login = accountOf(token) === identityUid ? await signIn(token, now, db) : undefined;
      if (login === undefined) throw refusal("iss");
      return { ...login, kind: "assumed" };
    },
  };
}

/** Whom the token speaks of, if it is genuine. */
function accountOf(token: ParsedJwt): string {
  return userIdentityUid(token.issuer, textClaim(token.claims, "sub") ?? "");
}

function unknownUser(uid: string, issuer: string): HoltError {
  const text = `Not found: nobody of issuer ${JSON.stringify(issuer)} with this subject is registered; register first, or name the identity to assume`;
  return new HoltError(Code.NOT_FOUND, text, { resource: { kind: "Identity", uid, domain: "iam" } });
}
