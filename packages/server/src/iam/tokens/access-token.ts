/** Holt's own access tokens: how they are made and how they are believed. What their bearer may do is not in them: capabilities.ts decides live. */
import { compactVerify } from "jose";
import type { Access } from "../../access/capabilities.ts";
import type { Principal, RegistryAccess } from "../../access/principal.ts";
import type { Clock } from "../../lib/clock.ts";
import { Lru } from "../../lib/lru.ts";
import { isUid } from "../../lib/uid.ts";
import type { AudienceList } from "./audience.ts";
import { encodeCapabilities } from "./capability-encoding.ts";
import { isRecord } from "./jwk-set.ts";
import { audiencesOf, type Claims, claimOf, malformed, type ParsedJwt, parseJwt, textClaim } from "./jwt.ts";
import { narrowClaim, narrowingOf, sessionClaim, sessionOf } from "./session-claims.ts";
import { signJwt } from "./sign-jwt.ts";
import { SIGNING_ALGORITHM, type SigningKeys } from "./signing-keys.ts";

export const MAX_LIFETIME_SECONDS = 3600;

/** What a new token says. `issuer`, times and signature are added. */
export interface TokenContent
  extends Pick<
    Principal,
    | "uid"
    | "actor"
    | "audience"
    | "email"
    | "emailVerified"
    | "upstream"
    | "scopes"
    | "capabilities"
    | "within"
    | "session"
    | "registryAccess"
  > {
  /** For the `cap` claim, by which clients see what the token is good for. Holt itself does not read it. */
  readonly access: Access;
  readonly lifetimeSeconds: number;
}

export interface AccessTokens {
  readonly issuer: string;
  /** For the API. */
  readonly audiences: AudienceList;
  mint(content: TokenContent, now: Date): Promise<{ token: string; expiry: Date }>;
  /**
   * @param audiences for whom the token must be; left out: for the API
   * @throws UNAUTHENTICATED unless Holt made the token for such an audience and it has not expired
   */
  verify(token: string, audiences?: AudienceList): Promise<Principal>;
}

export interface AccessTokensOptions {
  readonly issuer: string;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  /** Audiences whose tokens the API takes. */
  readonly audiences: AudienceList;
}

const MAX_CACHED = 10_000;
/** Tokens above it are verified each time: ten thousand of the longest would take 160 MB. */
const MAX_CACHED_LENGTH = 4096;
/** Of the `cap` claim. Tokens travel in headers, which servers and proxies bound. */
const MAX_CAP_LENGTH = 4096;
/** Servers that share a database may disagree on the time by this much. */
const CLOCK_SKEW_SECONDS = 60;

export function createAccessTokens({ issuer, keys, clock, audiences: apiAudiences }: AccessTokensOptions): AccessTokens {
  const verified = new Lru<string, Principal>(MAX_CACHED);
  let generation = keys.generation();

  function cached(token: string): Principal | undefined {
    const latest = keys.generation();
    if (latest !== generation) verified.clear();
    generation = latest;
    return verified.get(token);
  }
  async function verifyAnew(token: string): Promise<Principal> {
    const parsed = parseJwt(token);
    if (parsed.issuer !== issuer) throw malformed("wrong issuer");
    await assertSignedByUs(parsed, keys);
    const principal = principalOf(parsed.claims, issuer);
    if (token.length <= MAX_CACHED_LENGTH) verified.set(token, principal);
    return principal;
  }

  return {
    issuer,
    audiences: apiAudiences,
    async mint(content, now) {
      const issuedAt = Math.floor(now.getTime() / 1000);
      const expiry = issuedAt + Math.min(content.lifetimeSeconds, MAX_LIFETIME_SECONDS);
      const token = await signJwt(keys, { iss: issuer, sub: content.uid, ...claimsOf(content), iat: issuedAt, exp: expiry });
      return { token, expiry: new Date(expiry * 1000) };
    },
    async verify(token, audiences = apiAudiences) {
      const principal = cached(token) ?? (await verifyAnew(token));
      const seconds = clock.now().getTime() / 1000;
      if (principal.expiry <= seconds) {
        verified.delete(token);
        throw malformed("expired");
      }
      if (principal.issuedAt - CLOCK_SKEW_SECONDS > seconds) throw malformed("not valid yet");
      if (!principal.audience.some((audience) => audiences.has(audience))) throw malformed("it is for another audience");
      return principal;
    },
  };
}

function claimsOf({ actor, audience, access, email, emailVerified, upstream, session, registryAccess, ...content }: TokenContent): Claims {
  const narrow = narrowClaim(content);
  return {
    // Clients decode a plain string; a list is for several only.
    aud: audience.length === 1 ? audience[0] : audience,
    act: actor,
    // A registry token says what it is good for by itself.
    ...(registryAccess === undefined ? { cap: capOf(access) } : { access: registryAccess }),
    ...(email !== undefined && { email, email_verified: emailVerified }),
    ...(Object.keys(upstream).length > 0 && { upstream }),
    ...(narrow !== undefined && { narrow }),
    ...(session !== undefined && { idp: sessionClaim(session) }),
  };
}

/**
 * By group, in the order in which the identity was bound; who is bound in more groups than a header can carry finds the latest left out.
 * Anybody may bind anybody in groups of their own, as often and with as many rights as they like, but not before it was bound in its own.
 */
function capOf(access: Access): Record<string, string> {
  const cap: Record<string, string> = {};
  let length = 0;
  for (const [uid, capabilities] of access.entries()) {
    const text = encodeCapabilities(capabilities);
    length += uid.length + text.length + 6;
    if (length > MAX_CAP_LENGTH) break;
    cap[uid] = text;
  }
  return cap;
}

/** @throws UNAUTHENTICATED */
export async function assertSignedByUs(token: ParsedJwt, keys: SigningKeys): Promise<void> {
  if (token.algorithm !== SIGNING_ALGORITHM || token.kid === undefined) throw malformed("not signed as this server signs");
  const key = await keys.byKid(token.kid);
  if (key === undefined) throw malformed("signed with an unknown key");
  await compactVerify(token.text, key.publicKey, { algorithms: [SIGNING_ALGORITHM] }).catch(() => {
    throw malformed("the signature is wrong");
  });
}

/** Holt signs other things too, such as the tokens of deliveries; only what names an identity is an access token. */
function principalOf(claims: Claims, issuer: string): Principal {
  const uid = textClaim(claims, "sub") ?? "";
  const [issuedAt, expiry] = [claimOf(claims, "iat"), claimOf(claims, "exp")];
  if (!isUid(uid) || typeof issuedAt !== "number" || typeof expiry !== "number" || !isRecord(claimOf(claims, "act")))
    throw malformed("not an access token");
  return {
    uid,
    actor: textsOf(claimOf(claims, "act")),
    issuer,
    audience: audiencesOf(claims),
    issuedAt,
    expiry,
    email: textClaim(claims, "email"),
    emailVerified: claimOf(claims, "email_verified") === true,
    upstream: textsOf(claimOf(claims, "upstream")),
    ...narrowingOf(claimOf(claims, "narrow")),
    ...sessionOf(claimOf(claims, "idp")),
    ...registryAccessOf(claimOf(claims, "access")),
  };
}

function registryAccessOf(access: unknown): Pick<Principal, "registryAccess"> {
  if (access === undefined) return {};
  if (!Array.isArray(access) || !access.every(isRegistryAccess)) throw malformed("not an access token");
  return { registryAccess: access };
}

function isRegistryAccess(entry: unknown): entry is RegistryAccess {
  if (!isRecord(entry)) return false;
  const { type, name, actions } = entry;
  return typeof type === "string" && typeof name === "string" && Array.isArray(actions);
}

function textsOf(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
