/**
 * What a sign-in in a browser leaves with a program elsewhere, on another machine or a device: an ID token of Holt's own that is good for one
 * thing, an exchange. It is no access token, whoever it is shown to: it says who signed in, and not under `act`, where access tokens do.
 */
import type { AccessTokens } from "./access-token.ts";
import { assertSignedByUs } from "./access-token.ts";
import type { IssuedToken } from "./exchange-token.ts";
import { isRecord } from "./jwk-set.ts";
import { audiencesOf, claimOf, malformed, type ParsedJwt, textClaim } from "./jwt.ts";
import type { Login } from "./login.ts";
import { NOT_NARROWED } from "./narrowing.ts";
import { sessionClaim, sessionOf } from "./session-claims.ts";
import { signJwt } from "./sign-jwt.ts";
import type { SigningKeys } from "./signing-keys.ts";
import type { Profile } from "./subject.ts";

/** A person's login, in what of it can be kept for a while. */
export interface SignedIn extends Pick<Login, "identityUid" | "profile" | "session"> {
  /** Uid of the organization in which alone it is good; left out for everywhere. */
  readonly within?: string | undefined;
}

export function signedInFrom({ identityUid, profile, session, inherited: { within } }: Login): SignedIn {
  return { identityUid, profile, session, within };
}

export function loginFrom({ identityUid, profile, session, within }: SignedIn): Login {
  const inherited = within === undefined ? NOT_NARROWED : { ...NOT_NARROWED, within };
  return { identityUid, profile, kind: "user", inherited, notAfter: undefined, audiences: undefined, session };
}

export interface LoginTokens {
  /** @param clientId of the program, where it has one: ID tokens name it as an audience (OpenID Connect Core §2) */
  mint(signedIn: SignedIn, clientId: string | undefined, now: Date): Promise<IssuedToken>;
  /** Whether the token says that it is one. */
  isOne(token: ParsedJwt): boolean;
  /** @throws UNAUTHENTICATED */
  verify(token: ParsedJwt, now: Date): Promise<Login>;
}

/** A program exchanges it at once. */
const LIFETIME_SECONDS = 600;
const CLAIM = "login";

export function createLoginTokens({ issuer }: Pick<AccessTokens, "issuer">, keys: SigningKeys): LoginTokens {
  const audience = `${issuer}/sts/exchange`;
  return {
    async mint({ identityUid, profile, session, within }, clientId, now) {
      const iat = Math.floor(now.getTime() / 1000);
      const exp = iat + LIFETIME_SECONDS;
      const aud = clientId === undefined ? audience : [clientId, audience];
      const { name } = profile.upstream;
      const token = await signJwt(keys, {
        iss: issuer,
        sub: identityUid,
        aud,
        ...(clientId !== undefined && { azp: clientId }),
        iat,
        exp,
        ...(profile.email !== undefined && { email: profile.email, email_verified: profile.emailVerified }),
        ...(name !== undefined && { name }),
        [CLAIM]: { profile, within, ...(session !== undefined && { idp: sessionClaim(session) }) },
      });
      return { token, expiry: new Date(exp * 1000) };
    },
    isOne: (token) => claimOf(token.claims, CLAIM) !== undefined,
    async verify(token, now) {
      await assertSignedByUs(token, keys);
      const [login, exp] = [claimOf(token.claims, CLAIM), claimOf(token.claims, "exp")];
      const identityUid = textClaim(token.claims, "sub") ?? "";
      if (token.issuer !== issuer || !isRecord(login) || !isRecord(login.profile) || typeof exp !== "number")
        throw malformed("not the token of a sign-in");
      if (exp <= now.getTime() / 1000) throw malformed("expired");
      if (!audiencesOf(token.claims).includes(audience)) throw malformed("it is for another audience");
      const { actor, email, emailVerified, upstream } = login.profile as unknown as Profile;
      const { within } = login as Pick<SignedIn, "within">;
      return loginFrom({ identityUid, profile: { actor, email, emailVerified, upstream }, within, ...sessionOf(login.idp) });
    },
  };
}
