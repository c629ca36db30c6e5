/** Discovers identity providers (OpenID Connect Discovery 1.0) and configures openid-client for them. */
import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  clockTolerance,
  customFetch,
  discovery,
  None,
  type ServerMetadata,
} from "openid-client";
import { createIssuerCache } from "../iam/tokens/issuer-cache.ts";
import type { Clock } from "../lib/clock.ts";
import type { OutboundClient } from "../outbound/client.ts";
import { OutboundError } from "../outbound/error.ts";

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

export interface ConfigurationParts {
  readonly client: OutboundClient;
  readonly trustedIssuers: ReadonlySet<string>;
  readonly clock: Clock;
}

/** @throws OutboundError */
export type Configure = (upstream: Upstream) => Promise<Configuration>;

interface Discovered {
  readonly metadata: ServerMetadata;
  readonly time: number;
}

const DISCOVERY_MAX_AGE_MS = 10 * 60_000;
const TIMEOUT_SECONDS = 8;
const CLOCK_SKEW_SECONDS = 60;

export function createConfigure({ client, trustedIssuers, clock }: ConfigurationParts): Configure {
  const discovered = createIssuerCache<Discovered>(trustedIssuers);
  const guardedFetch = createGuardedFetch(client);

  async function discover(upstream: Upstream): Promise<ServerMetadata> {
    const { issuer } = upstream;
    const known = discovered.get(issuer);
    if (known !== undefined && clock.now().getTime() - known.time < DISCOVERY_MAX_AGE_MS) return known.metadata;
    const metadata = await fetchMetadata(upstream, guardedFetch);
    discovered.set(issuer, { metadata, time: clock.now().getTime() });
    return metadata;
  }

  return async (upstream) => {
    const metadata = await discover(upstream);
    const authentication = clientAuthentication(upstream, metadata);
    const configuration = new Configuration(metadata, upstream.clientId, clientMetadata(metadata), authentication);
    configuration[customFetch] = guardedFetch;
    configuration.timeout = TIMEOUT_SECONDS;
    if (isPlainHttp(upstream.issuer)) allowInsecureRequests(configuration);
    return configuration;
  };
}

async function fetchMetadata({ issuer, clientId }: Upstream, guardedFetch: CustomFetch): Promise<ServerMetadata> {
  const options = {
    [customFetch]: guardedFetch,
    timeout: TIMEOUT_SECONDS,
    ...(isPlainHttp(issuer) && { execute: [allowInsecureRequests] }),
  };
  const metadata = (await discovery(new URL(issuer), clientId, undefined, None(), options)).serverMetadata();
  // OpenID Connect Discovery 1.0 §4.3: the document must name the issuer, byte for byte.
  if (metadata.issuer !== issuer) throw new OutboundError("body", "the discovery document names another issuer");
  return metadata;
}

/** A provider must not send people, or their access tokens, to other URL schemes. */
export function assertLeadsToProvider(url: URL, issuer: string): void {
  if (url.protocol !== "https:" && url.origin !== new URL(issuer).origin)
    throw new OutboundError("scheme", "the discovery document has an endpoint on another origin without https");
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
