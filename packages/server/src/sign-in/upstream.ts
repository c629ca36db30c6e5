/**
 * Talks to identity providers: builds the authorization request and redeems the code. openid-client speaks OpenID
 * Connect, through the guarded outbound client. The ID token is verified by the same code as all other tokens.
 */
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  skipSubjectCheck,
} from "openid-client";
import type { JwksCache } from "../iam/tokens/jwks.ts";
import { type Claims, claimOf, parseJwt } from "../iam/tokens/jwt.ts";
import { verifyWithIssuer } from "../iam/tokens/third-party-tokens.ts";
import type { WaitLimit } from "../iam/tokens/wait-limit.ts";
import type { Log } from "../lib/log.ts";
import { describeFailure, refuseFailures } from "./provider-failure.ts";
import { SignInRefusal } from "./refusal.ts";
import { assertLeadsToProvider, type ConfigurationParts, createConfigure, type Upstream } from "./upstream-configuration.ts";

/**
 * Random values that bind the provider's response to this sign-in. The PKCE verifier stays secret until the code is
 * redeemed.
 */
export interface AuthorizationChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface Upstreams {
  /**
   * @returns the URL at the provider that the browser is sent to
   * @throws SignInRefusal
   */
  begin(upstream: Upstream, checks: AuthorizationChecks): Promise<string>;
  /**
   * Redeems the code and returns the claims of the ID token, with the groups of the userinfo endpoint if it has none.
   * @param answer the query that the browser returned with
   * @throws SignInRefusal
   */
  finish(upstream: Upstream, answer: URLSearchParams, checks: AuthorizationChecks): Promise<Claims>;
}

export interface UpstreamParts extends ConfigurationParts {
  readonly waits: WaitLimit;
  readonly jwks: JwksCache;
  readonly log: Log;
  /** `<issuer>/oauth/callback`, as registered with the providers. */
  readonly redirectUri: string;
}

export function createUpstreams(parts: UpstreamParts): Upstreams {
  const { waits, jwks, clock, log } = parts;
  const configure = createConfigure(parts);
  const atProvider = <T>({ issuer }: Upstream, work: () => Promise<T>) => refuseFailures(issuer, log, work);
  return {
    begin: (upstream, checks) =>
      atProvider(upstream, async () => {
        const configuration = await waits.wait(upstream.issuer, () => configure(upstream));
        const url = await authorizationUrl(upstream, configuration, checks, parts);
        assertLeadsToProvider(url, upstream.issuer);
        return url.href;
      }),

    finish: (upstream, answer, checks) =>
      atProvider(upstream, async () => {
        const { configuration, idToken, accessToken } = await waits.wait(upstream.issuer, async () => {
          const configured = await configure(upstream);
          return { configuration: configured, ...(await redeemCode(configured, answer, checks, parts)) };
        });
        // Fetching the keys is a wait of its own. Within the other one, it would count twice.
        const claims = await verifyWithIssuer(jwks, parseJwt(idToken), clock.now());
        return addGroups(upstream, configuration, { accessToken, claims }, parts);
      }),
  };
}

async function authorizationUrl(
  { hints, scopes }: Upstream,
  configuration: Configuration,
  { state, nonce, verifier }: AuthorizationChecks,
  { redirectUri }: UpstreamParts,
): Promise<URL> {
  return buildAuthorizationUrl(configuration, {
    ...hints,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: [...new Set(["openid", ...scopes])].join(" "),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
}

async function redeemCode(
  configuration: Configuration,
  answer: URLSearchParams,
  { state, nonce, verifier }: AuthorizationChecks,
  { redirectUri }: UpstreamParts,
): Promise<{ readonly idToken: string; readonly accessToken: string }> {
  const url = new URL(redirectUri);
  url.search = answer.toString();
  // openid-client checks the state and the issuer (RFC 9207) before it sends the code, and nonce, audience and times of
  // the token.
  const tokens = await authorizationCodeGrant(configuration, url, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  });
  return { idToken: tokens.id_token ?? "", accessToken: tokens.access_token };
}

interface ProvenTokens {
  readonly accessToken: string;
  /** The claims of the ID token. */
  readonly claims: Claims;
}

/** Adds the groups of the userinfo endpoint if groups are used and the ID token has none. */
async function addGroups(
  upstream: Upstream,
  configuration: Configuration,
  tokens: ProvenTokens,
  { waits, log }: UpstreamParts,
): Promise<Claims> {
  const { groupsClaim, issuer } = upstream;
  const { claims } = tokens;
  const { userinfo_endpoint: endpoint } = configuration.serverMetadata();
  if (groupsClaim === "" || claimOf(claims, groupsClaim) !== undefined || endpoint === undefined) return claims;
  assertLeadsToProvider(new URL(endpoint), issuer);
  const groups = await waits.wait(issuer, () => fetchGroups(upstream, configuration, tokens, log));
  return groups === undefined ? claims : { ...claims, [groupsClaim]: groups };
}

/**
 * Only the groups are taken from the userinfo endpoint. If it fails, the person signs in without them.
 * @throws SignInRefusal if the answer is about another person (OpenID Connect Core §5.3.2)
 */
async function fetchGroups(
  { issuer, groupsClaim }: Upstream,
  configuration: Configuration,
  { accessToken, claims }: ProvenTokens,
  log: Log,
): Promise<unknown> {
  try {
    const info: Claims = await fetchUserInfo(configuration, accessToken, skipSubjectCheck);
    if (claimOf(info, "sub") === claimOf(claims, "sub")) return claimOf(info, groupsClaim);
  } catch (error) {
    log.warn({ issuer, reason: describeFailure(error) }, "an identity provider did not answer at its userinfo endpoint");
    return undefined;
  }
  log.warn({ issuer }, "the userinfo endpoint of an identity provider answered for another person");
  throw new SignInRefusal(502, "Your identity provider mixes you up with another person. Tell its administrator.");
}
