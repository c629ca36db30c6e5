/** Discovers identity providers (OpenID Connect Discovery 1.0) and configures openid-client for them. */
import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  clockTolerance,
  customFetch,
  None,
  type ServerMetadata,
} from "openid-client";
import { fetchDiscoveryDocument } from "../iam/tokens/discovery-document.ts";
import { createIssuerCache } from "../iam/tokens/issuer-cache.ts";
import type { Clock } from "../lib/clock.ts";
import { assertBoundedJson } from "../lib/strict-json.ts";
import { JSON_LIMITS, type OutboundClient } from "../outbound/client.ts";
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
/** Many times the largest answer with tokens. openid-client decodes and parses the ID token before jwt.ts limits its size. */
const MAX_TOKENS_BYTES = 128 * 1024;

export function createConfigure({ client, trustedIssuers, clock }: ConfigurationParts): Configure {
  const discovered = createIssuerCache<Discovered>(trustedIssuers);
  const guardedFetch = createGuardedFetch(client);

  async function discover(upstream: Upstream): Promise<ServerMetadata> {
    const { issuer } = upstream;
    const known = discovered.get(issuer);
    if (known !== undefined && clock.now().getTime() - known.time < DISCOVERY_MAX_AGE_MS) return known.metadata;
    const metadata = await fetchMetadata(issuer, client);
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

async function fetchMetadata(issuer: string, client: OutboundClient): Promise<ServerMetadata> {
  return usedMembers(issuer, await fetchDiscoveryDocument(client, issuer, { timeoutMs: TIMEOUT_SECONDS * 1000 }));
}

const ENDPOINTS = ["authorization_endpoint", "token_endpoint", "userinfo_endpoint"] as const;
const NAME_LISTS = [
  "token_endpoint_auth_methods_supported",
  "id_token_signing_alg_values_supported",
  "userinfo_signing_alg_values_supported",
] as const;
const MAX_URL_LENGTH = 2048;
const MAX_NAMES = 100;
const MAX_NAME_LENGTH = 100;

/**
 * The members that a sign-in needs, in a bounded size. They are cached, openid-client copies them for each sign-in, and a
 * document can have other members of any size.
 */
function usedMembers(issuer: string, document: Record<string, unknown>): ServerMetadata {
  const endpoints = ENDPOINTS.map((name) => [name, document[name]] as const).filter(([, url]) => isShortText(url, MAX_URL_LENGTH));
  const lists = NAME_LISTS.map((name) => [name, shortNames(document[name])] as const).filter(([, names]) => names !== undefined);
  const { authorization_response_iss_parameter_supported: namesIssuer } = document;
  return {
    issuer,
    ...Object.fromEntries([...endpoints, ...lists]),
    ...(typeof namesIssuer === "boolean" && { authorization_response_iss_parameter_supported: namesIssuer }),
  };
}

function shortNames(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((name) => isShortText(name, MAX_NAME_LENGTH)).slice(0, MAX_NAMES) : undefined;
}

function isShortText(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value.length <= maxLength;
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
      ...(method === "POST" ? { method, maxBytes: MAX_TOKENS_BYTES } : { method: "GET" }),
      headers,
      ...(typeof content === "string" && { body: content }),
      signal,
    });
    assertCheapToParse(answer.body);
    return new Response(answer.status === 204 ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: textHeaders(answer.headers),
    });
  };
}

/** openid-client parses every body without a limit. @throws OutboundError */
function assertCheapToParse(body: Buffer): void {
  try {
    assertBoundedJson(body.toString("utf8"), JSON_LIMITS);
  } catch (cause) {
    throw new OutboundError("body", `the identity provider did not answer JSON of at most ${JSON_LIMITS.maxValues} values`, { cause });
  }
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
