/**
 * Issues and verifies Holt's own access tokens. A token says who its bearer is, not what the bearer may do: rights are
 * looked up on every request, see access/capabilities.ts.
 */
import { compactVerify } from "jose";
import type { Access } from "../../access/capabilities.ts";
import type { Principal, RegistryAccess } from "../../access/principal.ts";
import type { Clock } from "../../lib/clock.ts";
import { isRecord } from "../../lib/is-record.ts";
import { Lru } from "../../lib/lru.ts";
import { type Meter, meterCache, noMeter } from "../../lib/meter.ts";
import { isUid } from "../../lib/uid.ts";
import { looksLikePassword } from "../pull-tokens/password.ts";
import type { AudienceList } from "./audience.ts";
import { encodeCapabilities } from "./capability-encoding.ts";
import { audiencesOf, type Claims, claimOf, invalidToken, type ParsedJwt, parseJwt, stringClaim } from "./jwt.ts";
import { buildNarrowClaim, buildSessionClaim, parseNarrowClaim, parseSessionClaim } from "./session-claims.ts";
import { buildSignInClaims, parseSignInClaims } from "./sign-in-claims.ts";
import { signJwt } from "./sign-jwt.ts";
import { SIGNING_ALGORITHM, type SigningKeys } from "./signing-keys.ts";

export const MAX_LIFETIME_SECONDS = 3600;

/** Content of a new token. `mint` adds the issuer, the times and the signature. */
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
    | "registered"
    | "pullTokenSecret"
    | "loginSession"
    | "auth"
  > {
  /** Rights shown in the `cap` claim, which clients read. Holt itself ignores the claim. */
  readonly access: Access;
  readonly lifetimeSeconds: number;
}

export interface AccessTokens {
  readonly issuer: string;
  /** Audiences whose tokens the API accepts. */
  readonly audiences: AudienceList;
  mint(content: TokenContent, now: Date): Promise<{ token: string; expiry: Date }>;
  /**
   * @param audiences accepted audiences; the API's by default
   * @throws UNAUTHENTICATED unless Holt signed the token for an accepted audience and the token has not expired
   */
  verify(token: string, audiences?: AudienceList): Promise<Principal>;
  /**
   * The principal of a token for the API that was verified before; undefined if it was not.
   * @throws UNAUTHENTICATED if the token is no longer valid
   */
  recall(token: string): Principal | undefined;
}

export interface AccessTokensOptions {
  readonly issuer: string;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  /** Audiences whose tokens the API accepts. */
  readonly audiences: AudienceList;
  readonly meter?: Meter;
}

const MAX_CACHED_TOKENS = 10_000;
/** Longer tokens are verified on every use: caching ten thousand tokens of maximum length would take 160 MB. */
const MAX_CACHED_TOKEN_LENGTH = 4096;
/** Characters of the signature that tell tokens apart. Tokens with the same end are compared as a whole, and replace each other. */
const END_LENGTH = 24;
/** Characters in the `cap` claim. Servers and proxies limit the size of headers, in which tokens travel. */
const MAX_CAP_CLAIM_LENGTH = 4096;
/** Clocks of servers that share a database may differ by this much. */
const CLOCK_SKEW_SECONDS = 60;

interface VerifiedToken {
  readonly token: string;
  readonly principal: Principal;
}

function endOf(token: string): string {
  return token.slice(-END_LENGTH);
}

export function createAccessTokens({ issuer, keys, clock, audiences: apiAudiences, meter = noMeter }: AccessTokensOptions): AccessTokens {
  /** By the end of the token, because hashing all of a long token takes longer than all else that a look-up does. */
  const verified = new Lru<string, VerifiedToken>(MAX_CACHED_TOKENS);
  meterCache(meter, "access-tokens", verified);
  let generation = keys.generation();

  function findVerified(token: string): Principal | undefined {
    const latest = keys.generation();
    if (latest !== generation) verified.clear();
    generation = latest;
    const known = verified.get(endOf(token));
    return known?.token === token ? known.principal : undefined;
  }
  async function verifyUncached(token: string): Promise<Principal> {
    if (looksLikePassword(token))
      throw invalidToken("it is the password of a pull token, which works with its user name at the registry and in libraries");
    const parsed = parseJwt(token);
    if (parsed.issuer !== issuer)
      throw invalidToken("it has another issuer; exchange it at /sts/exchange for an access token of this server");
    await assertSignedByUs(parsed, keys);
    const principal = principalFromClaims(parsed.claims, issuer);
    if (token.length <= MAX_CACHED_TOKEN_LENGTH) verified.set(endOf(token), { token, principal });
    return principal;
  }
  function assertValid(principal: Principal, token: string, audiences: AudienceList): Principal {
    const seconds = clock.now().getTime() / 1000;
    if (principal.expiry <= seconds) {
      verified.delete(endOf(token));
      throw invalidToken("expired");
    }
    if (principal.issuedAt - CLOCK_SKEW_SECONDS > seconds) throw invalidToken("not valid yet");
    if (!principal.audience.some((audience) => audiences.has(audience))) throw invalidToken("issued for another audience");
    return principal;
  }

  return {
    issuer,
    audiences: apiAudiences,
    async mint(content, now) {
      const issuedAt = Math.floor(now.getTime() / 1000);
      const expiry = issuedAt + Math.min(content.lifetimeSeconds, MAX_LIFETIME_SECONDS);
      const token = await signJwt(keys, { iss: issuer, sub: content.uid, ...buildClaims(content), iat: issuedAt, exp: expiry });
      return { token, expiry: new Date(expiry * 1000) };
    },
    async verify(token, audiences = apiAudiences) {
      return assertValid(findVerified(token) ?? (await verifyUncached(token)), token, audiences);
    },
    recall(token) {
      const principal = findVerified(token);
      return principal && assertValid(principal, token, apiAudiences);
    },
  };
}

function buildClaims({
  actor,
  audience,
  access,
  email,
  emailVerified,
  upstream,
  session,
  registryAccess,
  registered,
  pullTokenSecret,
  loginSession,
  auth,
  ...content
}: TokenContent): Claims {
  const narrow = buildNarrowClaim(content);
  return {
    // Clients decode a single audience as a plain string.
    aud: audience.length === 1 ? audience[0] : audience,
    act: actor,
    // A registry token lists its permissions itself.
    ...(registryAccess === undefined ? { cap: buildCapClaim(access) } : { access: registryAccess }),
    ...(email !== undefined && { email, email_verified: emailVerified }),
    ...(Object.keys(upstream).length > 0 && { upstream }),
    ...(narrow !== undefined && { narrow }),
    ...(session !== undefined && { idp: buildSessionClaim(session) }),
    ...(registered !== undefined && { registered }),
    ...(pullTokenSecret !== undefined && { pull_token_secret: pullTokenSecret }),
    ...buildSignInClaims({ loginSession, auth }),
  };
}

/**
 * Capabilities by group, oldest binding first. If they exceed `MAX_CAP_CLAIM_LENGTH`, the newest groups are left out:
 * anyone can bind an identity in groups of their own, but never before its oldest bindings.
 */
function buildCapClaim(access: Access): Record<string, string> {
  const cap: Record<string, string> = {};
  let length = 0;
  for (const [uid, capabilities] of access.entries()) {
    const text = encodeCapabilities(capabilities);
    length += uid.length + text.length + 6;
    if (length > MAX_CAP_CLAIM_LENGTH) break;
    cap[uid] = text;
  }
  return cap;
}

/** @throws UNAUTHENTICATED */
export async function assertSignedByUs(token: ParsedJwt, keys: SigningKeys): Promise<void> {
  if (token.algorithm !== SIGNING_ALGORITHM || token.kid === undefined) throw invalidToken("not signed with the algorithm of this server");
  const key = await keys.byKid(token.kid);
  if (key === undefined) throw invalidToken("signed with an unknown key");
  await compactVerify(token.compact, key.publicKey, { algorithms: [SIGNING_ALGORITHM] }).catch(() => {
    throw invalidToken("the signature is wrong");
  });
}

/**
 * Holt also signs other tokens, such as those of webhook deliveries. Only a token whose subject is a uid and that has
 * an `act` claim is an access token.
 */
function principalFromClaims(claims: Claims, issuer: string): Principal {
  const uid = stringClaim(claims, "sub") ?? "";
  const issuedAt = claimOf(claims, "iat");
  const expiry = claimOf(claims, "exp");
  const registered = stringClaim(claims, "registered");
  const pullTokenSecret = stringClaim(claims, "pull_token_secret");
  if (!isUid(uid) || typeof issuedAt !== "number" || typeof expiry !== "number" || !isRecord(claimOf(claims, "act")))
    throw invalidToken("not an access token");
  return {
    uid,
    actor: stringMembers(claimOf(claims, "act")),
    issuer,
    audience: audiencesOf(claims),
    issuedAt,
    expiry,
    ...(registered !== undefined && { registered }),
    ...(pullTokenSecret !== undefined && { pullTokenSecret }),
    email: stringClaim(claims, "email"),
    emailVerified: claimOf(claims, "email_verified") === true,
    upstream: stringMembers(claimOf(claims, "upstream")),
    ...parseNarrowClaim(claimOf(claims, "narrow")),
    ...parseSessionClaim(claimOf(claims, "idp")),
    ...parseSignInClaims(claims),
    ...parseRegistryAccess(claimOf(claims, "access")),
  };
}

function parseRegistryAccess(access: unknown): Pick<Principal, "registryAccess"> {
  if (access === undefined) return {};
  if (!Array.isArray(access) || !access.every(isRegistryAccess)) throw invalidToken("not an access token");
  return { registryAccess: access };
}

function isRegistryAccess(entry: unknown): entry is RegistryAccess {
  if (!isRecord(entry)) return false;
  const { type, name, actions } = entry;
  return typeof type === "string" && typeof name === "string" && Array.isArray(actions);
}

function stringMembers(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
