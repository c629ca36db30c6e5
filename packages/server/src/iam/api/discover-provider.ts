/** Reads the discovery document of an issuer (OpenID Connect Discovery 1.0), for the form that sets up an identity provider. */
import { create } from "@bufbuild/protobuf";
import {
  type DiscoverProviderRequest,
  type DiscoverProviderResponse,
  DiscoverProviderResponseSchema,
} from "@holt/api/gen/holt/v1/sign_in_settings_pb.ts";
import { assertNone } from "../../api/resource/names.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { isRecord } from "../../lib/is-record.ts";
import { isInRoot } from "../../lib/uid.ts";
import type { OutboundClient } from "../../outbound/client.ts";
import { OutboundError } from "../../outbound/error.ts";
import { discoveryUrl } from "../tokens/discovery-document.ts";
import type { WaitLimit } from "../tokens/wait-limit.ts";
import { issuerViolations } from "./identity-relationship.ts";

export interface DiscoverProviderCollaborators {
  readonly client: Pick<OutboundClient, "fetchJson">;
  readonly waits: WaitLimit;
  readonly baseUrl: string;
}

/** The person waits. */
const TIMEOUT_MS = 5000;
const MAX_LISTED = 100;

/** @throws INVALID_ARGUMENT; UNAVAILABLE while too many calls wait for issuers */
export async function discoverProvider(
  { parent, issuer }: DiscoverProviderRequest,
  { client, waits, baseUrl }: DiscoverProviderCollaborators,
): Promise<DiscoverProviderResponse> {
  if (!isInRoot(parent)) throw invalidArgument("parent", "parent must be the uid of an organization");
  assertNone(issuerViolations("issuer", issuer));
  const redirectUri = `${baseUrl}/oauth/callback`;
  try {
    const document = await waits.wait(issuer, () => client.fetchJson(discoveryUrl(issuer), { timeoutMs: TIMEOUT_MS }));
    return create(DiscoverProviderResponseSchema, { redirectUri, ...discovered(document, issuer) });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return create(DiscoverProviderResponseSchema, { redirectUri, problem: `the issuer does not answer as expected: ${error.message}` });
  }
}

function discovered(document: unknown, issuer: string) {
  if (!isRecord(document)) return { problem: "the discovery document is not a JSON object" };
  const authorizationEndpoint = textOf(document.authorization_endpoint);
  const tokenEndpoint = textOf(document.token_endpoint);
  return {
    problem: problemOf(document.issuer, issuer, authorizationEndpoint !== "" && tokenEndpoint !== ""),
    authorizationEndpoint,
    tokenEndpoint,
    pkceSupported: textsOf(document.code_challenge_methods_supported).includes("S256"),
    scopesSupported: textsOf(document.scopes_supported),
    claimsSupported: textsOf(document.claims_supported),
  };
}

function problemOf(named: unknown, issuer: string, hasEndpoints: boolean): string {
  if (named !== issuer)
    return `the document names the issuer ${JSON.stringify(named)?.slice(0, 200)}, which must be written in the same way`;
  return hasEndpoints ? "" : "the document has no authorization_endpoint or no token_endpoint";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string").slice(0, MAX_LISTED) : [];
}
