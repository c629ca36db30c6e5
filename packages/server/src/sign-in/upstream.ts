/**
 * Talks to identity providers: builds the authorization request and redeems the code. openid-client speaks OpenID
 * Connect, through the guarded outbound client. The ID token is verified by the same code as all other tokens.
 */
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  discovery,
  fetchUserInfo,
  None,
  type ServerMetadata,
  skipSubjectCheck,
} from "openid-client";
import { createIssuerCache } from "../iam/tokens/issuer-cache.ts";
import type { JwksCache } from "../iam/tokens/jwks.ts";
import { type Claims, claimOf, parseJwt } from "../iam/tokens/jwt.ts";
import { verifyWithIssuer } from "../iam/tokens/third-party-tokens.ts";
import type { WaitLimit } from "../iam/tokens/wait-limit.ts";
import type { Clock } from "../lib/clock.ts";
import { HoltError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { OutboundClient } from "../outbound/client.ts";
import { OutboundError } from "../outbound/error.ts";
import { SignInRefusal } from "./refusal.ts";

/** A provider and Holt's client registration there. */
export interface Upstream {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a client without a secret. */
  readonly clientSecret: string | undefined;
  readonly scopes: readonly string[];
  /** Name of the claim with the person's groups, which may be at the userinfo endpoint; empty if groups are not used. */
  readonly groupsClaim: string;
  /** Additional parameters for the authorization endpoint. */
  readonly hints: Readonly<Record<string, string>>;
}

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

export interface UpstreamsOptions {
  readonly client: OutboundClient;
  readonly waits: WaitLimit;
  readonly jwks: JwksCache;
  readonly trustedIssuers: ReadonlySet<string>;
  readonly clock: Clock;
  readonly log: Log;
  /** `<issuer>/oauth/callback`, as registered with the providers. */
  readonly redirectUri: string;
}

interface Discovered {
  readonly metadata: ServerMetadata;
  readonly time: number;
}

const DISCOVERY_MAX_AGE_MS = 10 * 60_000;
const TIMEOUT_SECONDS = 8;
const CLOCK_SKEW_SECONDS = 60;
const MAX_QUOTED_LENGTH = 300;

export function createUpstreams({ client, waits, jwks, trustedIssuers, clock, log, redirectUri }: UpstreamsOptions): Upstreams {
  const discovered = createIssuerCache<Discovered>(trustedIssuers);
  const guardedFetch = createGuardedFetch(client);

  async function discover({ issuer, clientId }: Upstream): Promise<ServerMetadata> {
    const known = discovered.get(issuer);
    if (known !== undefined && clock.now().getTime() - known.time < DISCOVERY_MAX_AGE_MS) return known.metadata;
    const options = {
      [customFetch]: guardedFetch,
      timeout: TIMEOUT_SECONDS,
      ...(isPlainHttp(issuer) && { execute: [allowInsecureRequests] }),
    };
    const metadata = (await discovery(new URL(issuer), clientId, undefined, None(), options)).serverMetadata();
    // OpenID Connect Discovery 1.0 §4.3: the document must name the issuer, byte for byte.
    if (metadata.issuer !== issuer) throw new OutboundError("body", "the discovery document names another issuer");
    discovered.set(issuer, { metadata, time: clock.now().getTime() });
    return metadata;
  }

  async function configure(upstream: Upstream): Promise<Configuration> {
    const metadata = await discover(upstream);
    const configuration = new Configuration(
      metadata,
      upstream.clientId,
      clientMetadata(metadata),
      clientAuthentication(upstream, metadata),
    );
    configuration[customFetch] = guardedFetch;
    configuration.timeout = TIMEOUT_SECONDS;
    if (isPlainHttp(upstream.issuer)) allowInsecureRequests(configuration);
    return configuration;
  }

  /** Logs failures between the servers, without codes and tokens, and shows the person a generic message. */
  async function guardProvider<T>(issuer: string, work: () => Promise<T>): Promise<T> {
    try {
      return await waits.wait(issuer, work);
    } catch (error) {
      if (error instanceof SignInRefusal || error instanceof HoltError) throw error;
      if (error instanceof AuthorizationResponseError) throw deniedByProvider(error);
      log.warn({ issuer, reason: describeFailure(error) }, "an identity provider failed to sign a person in");
      throw new SignInRefusal(
        502,
        "Your identity provider does not answer this server as it should, so nobody can sign in there now. " +
          "Try again in a minute; if the problem persists, tell its administrator.",
      );
    }
  }

  /**
   * Only the groups are taken from the userinfo endpoint. If it fails, the person signs in without them.
   * @throws SignInRefusal if the answer is about another person (OpenID Connect Core §5.3.2)
   */
  async function fetchGroups(
    { issuer, groupsClaim }: Upstream,
    configuration: Configuration,
    { accessToken, claims }: { readonly accessToken: string; readonly claims: Claims },
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

  return {
    begin(upstream, { state, nonce, verifier }) {
      return guardProvider(upstream.issuer, async () => {
        const configuration = await configure(upstream);
        const url = buildAuthorizationUrl(configuration, {
          ...upstream.hints,
          redirect_uri: redirectUri,
          response_type: "code",
          scope: [...new Set(["openid", ...upstream.scopes])].join(" "),
          state,
          nonce,
          code_challenge: await calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256",
        });
        assertLeadsToProvider(url, upstream.issuer);
        return url.href;
      });
    },

    finish(upstream, answer, { state, nonce, verifier }) {
      return guardProvider(upstream.issuer, async () => {
        const url = new URL(redirectUri);
        url.search = answer.toString();
        // openid-client checks the state and the issuer (RFC 9207) before it sends the code, and nonce, audience and
        // times of the token.
        const configuration = await configure(upstream);
        const tokens = await authorizationCodeGrant(configuration, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims = await verifyWithIssuer(jwks, parseJwt(tokens.id_token ?? ""), clock.now());
        const { groupsClaim } = upstream;
        const { userinfo_endpoint: endpoint } = configuration.serverMetadata();
        if (groupsClaim === "" || claimOf(claims, groupsClaim) !== undefined || endpoint === undefined) return claims;
        assertLeadsToProvider(new URL(endpoint), upstream.issuer);
        const groups = await fetchGroups(upstream, configuration, { accessToken: tokens.access_token, claims });
        return groups === undefined ? claims : { ...claims, [groupsClaim]: groups };
      });
    },
  };
}

function createGuardedFetch(client: OutboundClient): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const content = body instanceof URLSearchParams ? body.toString() : body;
    if (content !== undefined && content !== null && typeof content !== "string")
      throw new TypeError("the body of a request must be a form");
    const answer = await client.request({
      url,
      method: method === "POST" ? "POST" : "GET",
      headers,
      ...(typeof content === "string" && { body: content }),
      signal,
    });
    return new Response(answer.status === 204 ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: textHeaders(answer.headers),
    });
  };
}

function textHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((text): [string, string] => [name, text]));
}

/** Plain http is used only if the issuer uses it, which the operator must have allowed. */
function isPlainHttp(issuer: string): boolean {
  return new URL(issuer).protocol === "http:";
}

/** The signature check decides which algorithms are accepted. */
function clientMetadata({ id_token_signing_alg_values_supported: algorithms }: ServerMetadata) {
  return { [clockTolerance]: CLOCK_SKEW_SECONDS, ...(algorithms === undefined && { id_token_signed_response_alg: "RS256" }) };
}

/** OpenID Connect Discovery 1.0 §3: the default is `client_secret_basic`. */
function clientAuthentication({ clientSecret }: Upstream, { token_endpoint_auth_methods_supported: methods }: ServerMetadata) {
  if (clientSecret === undefined) return None();
  const takesBasic = methods === undefined || methods.includes("client_secret_basic");
  return takesBasic ? ClientSecretBasic(clientSecret) : ClientSecretPost(clientSecret);
}

/** A provider must not send people, or their access tokens, to other URL schemes. */
function assertLeadsToProvider(url: URL, issuer: string): void {
  if (url.protocol !== "https:" && url.origin !== new URL(issuer).origin)
    throw new OutboundError("scheme", "the discovery document has an endpoint on another origin without https");
}

/** Shows the provider's own error message, since only its administrator can fix the cause. */
function deniedByProvider({ error, error_description: description }: AuthorizationResponseError): SignInRefusal {
  const message = (description ?? error).replace(/\s+/g, " ").slice(0, MAX_QUOTED_LENGTH);
  const isTemporary = error === "temporarily_unavailable" || error === "server_error";
  return new SignInRefusal(
    isTemporary ? 503 : 403,
    `Your identity provider did not sign you in. It says: “${message}”. Try again, or ask its administrator.`,
  );
}

function describeFailure(error: unknown): string {
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++)
    if (cause instanceof OutboundError) return `${cause.reason}: ${cause.message}`;
  const { code, message } = error as { code?: unknown; message?: unknown };
  return `${String(code ?? "error")}: ${String(message)}`;
}
