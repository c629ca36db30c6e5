/**
 * The side of a sign-in that faces the provider: its authorization endpoint, and the code it answers with. openid-client speaks the protocol, with all
 * its requests through the guarded client; that the token is genuine is verified as for every other token.
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
  None,
  type ServerMetadata,
} from "openid-client";
import type { JwksCache } from "../iam/tokens/jwks.ts";
import { type Claims, parseJwt } from "../iam/tokens/jwt.ts";
import { verifyWithIssuer } from "../iam/tokens/third-party-tokens.ts";
import type { WaitLimit } from "../iam/tokens/wait-limit.ts";
import type { Clock } from "../lib/clock.ts";
import { HoltError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { Lru } from "../lib/lru.ts";
import type { OutboundClient } from "../outbound/client.ts";
import { OutboundError } from "../outbound/error.ts";
import { SignInRefusal } from "./refusal.ts";

/** A provider and Holt's account with it. */
export interface Upstream {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a client without one. */
  readonly clientSecret: string | undefined;
  readonly scopes: readonly string[];
  /** More parameters for the authorization endpoint. */
  readonly hints: Readonly<Record<string, string>>;
}

/** What ties the provider's answer to this sign-in. The verifier is a secret until it is used. */
export interface Ties {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface Upstreams {
  /** The URL at the provider to which the browser goes. @throws SignInRefusal */
  begin(upstream: Upstream, ties: Ties): Promise<string>;
  /**
   * The claims of the ID token that the provider gives for the code.
   * @param answer the query with which the browser came back
   * @throws SignInRefusal
   */
  finish(upstream: Upstream, answer: URLSearchParams, ties: Ties): Promise<Claims>;
}

export interface UpstreamsOptions {
  readonly client: OutboundClient;
  readonly waits: WaitLimit;
  readonly jwks: JwksCache;
  readonly clock: Clock;
  readonly log: Log;
  /** `<issuer>/oauth/callback`: what is registered with the providers. */
  readonly redirectUri: string;
}

interface Discovered {
  readonly metadata: ServerMetadata;
  readonly time: number;
}

const DISCOVERY_KEPT_MS = 10 * 60_000;
const MAX_DISCOVERED = 256;
const TIMEOUT_SECONDS = 8;
const CLOCK_SKEW_SECONDS = 60;
const MAX_QUOTED = 300;

export function createUpstreams({ client, waits, jwks, clock, log, redirectUri }: UpstreamsOptions): Upstreams {
  const discovered = new Lru<string, Discovered>(MAX_DISCOVERED);
  const guardedFetch = createGuardedFetch(client);

  async function discover({ issuer, clientId }: Upstream): Promise<ServerMetadata> {
    const known = discovered.get(issuer);
    if (known !== undefined && clock.now().getTime() - known.time < DISCOVERY_KEPT_MS) return known.metadata;
    const options = { [customFetch]: guardedFetch, timeout: TIMEOUT_SECONDS, ...(isPlain(issuer) && { execute: [allowInsecureRequests] }) };
    const metadata = (await discovery(new URL(issuer), clientId, undefined, None(), options)).serverMetadata();
    // OpenID Connect Discovery 1.0 §4.3: byte for byte, or it speaks for somebody else.
    if (metadata.issuer !== issuer) throw new OutboundError("body", "the discovery document names another issuer");
    discovered.set(issuer, { metadata, time: clock.now().getTime() });
    return metadata;
  }

  async function configure(upstream: Upstream): Promise<Configuration> {
    const metadata = await discover(upstream);
    const configuration = new Configuration(metadata, upstream.clientId, clientMetadata(metadata), authenticationOf(upstream, metadata));
    configuration[customFetch] = guardedFetch;
    configuration.timeout = TIMEOUT_SECONDS;
    if (isPlain(upstream.issuer)) allowInsecureRequests(configuration);
    return configuration;
  }

  /** What went wrong between servers is for the log; it holds no code and no token. */
  async function guarded<T>(issuer: string, work: () => Promise<T>): Promise<T> {
    try {
      return await waits.wait(issuer, work);
    } catch (error) {
      if (error instanceof SignInRefusal || error instanceof HoltError) throw error;
      if (error instanceof AuthorizationResponseError) throw denied(error);
      log.warn({ issuer, reason: reasonOf(error) }, "an identity provider could not sign somebody in");
      throw new SignInRefusal(
        502,
        "Your identity provider does not answer this server as it should, so nobody can sign in there now. Try again in a minute; if it stays like this, tell whoever administers it.",
      );
    }
  }

  return {
    begin(upstream, { state, nonce, verifier }) {
      return guarded(upstream.issuer, async () => {
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
      return guarded(upstream.issuer, async () => {
        const url = new URL(redirectUri);
        url.search = answer.toString();
        // State and, by RFC 9207, the issuer are compared before the code is sent anywhere; nonce, audience and times when the token is there.
        const tokens = await authorizationCodeGrant(await configure(upstream), url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        return await verifyWithIssuer(jwks, parseJwt(tokens.id_token ?? ""), clock.now());
      });
    },
  };
}

function createGuardedFetch(client: OutboundClient): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const content = body instanceof URLSearchParams ? body.toString() : body;
    if (content !== undefined && content !== null && typeof content !== "string") throw new TypeError("the body of a request is a form");
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

/** Plain http only where the issuer is so, which the operator must have allowed. */
function isPlain(issuer: string): boolean {
  return new URL(issuer).protocol === "http:";
}

/** Which algorithms are good is decided where the signature is verified. */
function clientMetadata({ id_token_signing_alg_values_supported: algorithms }: ServerMetadata) {
  return { [clockTolerance]: CLOCK_SKEW_SECONDS, ...(algorithms === undefined && { id_token_signed_response_alg: "RS256" }) };
}

/** OpenID Connect Discovery 1.0 §3: where the provider does not say, it is `client_secret_basic`. */
function authenticationOf({ clientSecret }: Upstream, { token_endpoint_auth_methods_supported: methods }: ServerMetadata) {
  if (clientSecret === undefined) return None();
  const takesBasic = methods === undefined || methods.includes("client_secret_basic");
  return takesBasic ? ClientSecretBasic(clientSecret) : ClientSecretPost(clientSecret);
}

/** A provider must not send people to something that is not a page. */
function assertLeadsToProvider(url: URL, issuer: string): void {
  if (url.protocol !== "https:" && url.origin !== new URL(issuer).origin)
    throw new OutboundError("scheme", "the discovery document names an authorization endpoint that is not reached by https");
}

/** The provider's own words, as far as they are words: they tell what only its administrator can change. */
function denied({ error, error_description: description }: AuthorizationResponseError): SignInRefusal {
  const said = (description ?? error).replace(/\s+/g, " ").slice(0, MAX_QUOTED);
  const isUp = error === "temporarily_unavailable" || error === "server_error";
  return new SignInRefusal(
    isUp ? 503 : 403,
    `Your identity provider did not sign you in. It says: “${said}”. Try again, or ask whoever administers it.`,
  );
}

function reasonOf(error: unknown): string {
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++)
    if (cause instanceof OutboundError) return `${cause.reason}: ${cause.message}`;
  const { code, message } = error as { code?: unknown; message?: unknown };
  return `${String(code ?? "error")}: ${String(message)}`;
}
