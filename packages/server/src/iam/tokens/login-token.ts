/**
 * Issues and verifies login tokens: ID tokens that a browser sign-in hands to a program on another machine or to a
 * device. The program can only exchange one for an access token, once (spent-login-token.ts). A login token has no
 * `act` claim, so nothing accepts it as an access token.
 */
import { randomUUID } from "node:crypto";
import { isRecord } from "../../lib/is-record.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import type { AccessTokens } from "./access-token.ts";
import { assertSignedByUs } from "./access-token.ts";
import type { IssuedToken } from "./issue-token.ts";
import { audiencesOf, claimOf, invalidToken, type ParsedJwt, stringClaim } from "./jwt.ts";
import type { Login } from "./login.ts";
import { NOT_NARROWED } from "./narrowing.ts";
import { buildSessionClaim, parseSessionClaim } from "./session-claims.ts";
import { buildSignInClaims, parseSignInClaims } from "./sign-in-claims.ts";
import { signJwt } from "./sign-jwt.ts";
import type { SigningKeys } from "./signing-keys.ts";
import type { Profile } from "./subject.ts";

/** The parts of a person's login that are stored until the program collects them. */
export interface StoredLogin
  extends Pick<Login, "identityUid" | "profile" | "session" | "registered" | "loginSession" | "auth" | "accountVersion"> {
  /** Uid of the only organization where the login is valid; undefined if it is valid everywhere. */
  readonly within?: string | undefined;
}

export function storedFromLogin({
  identityUid,
  profile,
  session,
  registered,
  loginSession,
  auth,
  accountVersion,
  inherited: { within },
}: Login): StoredLogin {
  return { identityUid, profile, session, registered, loginSession, auth, accountVersion, within };
}

export function loginFromStored({ within, ...rest }: StoredLogin): Login {
  const inherited = within === undefined ? NOT_NARROWED : { ...NOT_NARROWED, within };
  return { ...rest, kind: "user", inherited, notAfter: undefined, audiences: undefined };
}

export interface LoginTokens {
  /**
   * @param clientId name that the program gives itself, if it has one. It becomes the authorized party, and not an
   * audience: no program may choose a service that accepts the token
   */
  mint(signedIn: StoredLogin, clientId: string | undefined, now: Date): Promise<IssuedToken>;
  /** Whether the token claims to be a login token. Verifies nothing. */
  isLoginToken(token: ParsedJwt): boolean;
  /** @throws UNAUTHENTICATED */
  verify(token: ParsedJwt, now: Date): Promise<Login>;
}

/** Programs exchange login tokens immediately. */
const LIFETIME_SECONDS = 600;
const CLAIM = "login";

export function createLoginTokens({ issuer }: Pick<AccessTokens, "issuer">, keys: SigningKeys): LoginTokens {
  const audience = `${issuer}/sts/exchange`;
  return {
    async mint({ identityUid, profile, session, registered, loginSession, auth, within }, clientId, now) {
      const iat = Math.floor(now.getTime() / 1000);
      const exp = iat + LIFETIME_SECONDS;
      const { name } = profile.upstream;
      const token = await signJwt(keys, {
        iss: issuer,
        sub: identityUid,
        aud: audience,
        ...(clientId !== undefined && { azp: clientId }),
        // Two sign-ins of a person within a second must not give the same token, since each can be used once.
        jti: randomUUID(),
        iat,
        exp,
        ...(profile.email !== undefined && { email: profile.email, email_verified: profile.emailVerified }),
        ...(name !== undefined && { name }),
        [CLAIM]: {
          profile,
          within,
          registered,
          ...buildSignInClaims({ loginSession, auth }),
          ...(session !== undefined && { idp: buildSessionClaim(session) }),
        },
      });
      return { token, expiry: new Date(exp * 1000) };
    },
    isLoginToken: (token) => claimOf(token.claims, CLAIM) !== undefined,
    async verify(token, now) {
      await assertSignedByUs(token, keys);
      const login = claimOf(token.claims, CLAIM);
      const exp = claimOf(token.claims, "exp");
      const identityUid = stringClaim(token.claims, "sub") ?? "";
      if (token.issuer !== issuer || !isRecord(login) || !isRecord(login.profile) || typeof exp !== "number")
        throw invalidToken("not a sign-in token");
      if (exp <= now.getTime() / 1000) throw invalidToken("expired");
      if (!audiencesOf(token.claims).includes(audience)) throw invalidToken("issued for another audience");
      const { actor, email, emailVerified, upstream } = login.profile as unknown as Profile;
      const { within, registered } = login as Pick<StoredLogin, "within" | "registered">;
      const profile = { actor, email, emailVerified, upstream };
      const loginToken = { hash: sha256Hex(token.compact), expiry: new Date(exp * 1000) };
      return {
        ...loginFromStored({ identityUid, profile, within, registered, ...parseSessionClaim(login.idp), ...parseSignInClaims(login) }),
        loginToken,
      };
    },
  };
}
