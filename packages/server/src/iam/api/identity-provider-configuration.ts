/** The rules of an identity provider's configuration that need no database. */
import {
  IdentityProvider_OIDC_CorrelationRule as CorrelationRule,
  type IdentityProvider,
  type IdentityProvider_OIDC,
  IdentityProvider_OIDC_CorrelationRuleSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { assertName, assertNone, descriptionViolations } from "../../api/resource/names.ts";
import { type FieldViolation, invalidArgument } from "../../lib/errors.ts";
import { issuerViolations, required, tooLong } from "./identity-relationship.ts";

const MAX_SCOPES = 32;
const MAX_SCOPE = 256;
const MAX_SECRET = 4096;
/** RFC 6749, appendix A.4. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
/** RFC 6749, appendix A.1. */
const CLIENT_ID = /^[\x20-\x7e]*$/;

/** OIDC is the only kind of configuration. @throws INVALID_ARGUMENT without one */
export function oidcOf({ configuration }: IdentityProvider): IdentityProvider_OIDC {
  if (configuration.case !== "oidc") throw invalidArgument("oidc", "oidc is required: it is the only kind of identity provider");
  return configuration.value;
}

/**
 * @param hasSecret whether the message or the store has a client secret
 * @param baseUrl of this server, which cannot be its own identity provider
 */
export function assertConfiguration(provider: IdentityProvider, hasSecret: boolean, baseUrl: string): void {
  assertName(provider.name);
  assertNone([...descriptionViolations(provider.description), ...oidcViolations(oidcOf(provider), hasSecret, baseUrl)]);
}

function oidcViolations(oidc: IdentityProvider_OIDC, hasSecret: boolean, baseUrl: string): FieldViolation[] {
  const { issuer, clientId, clientSecret, groupsClaim, correlationRule, pkceEnabled } = oidc;
  return [
    ...(issuer === "" ? required("oidc.issuer", "issuer is required") : issuerViolations("oidc.issuer", issuer)),
    ...(isSame(issuer, baseUrl) ? required("oidc.issuer", "issuer must not be this server itself") : []),
    ...(clientId === "" ? required("oidc.client_id", "client_id is required") : tooLong("oidc.client_id", clientId)),
    ...(CLIENT_ID.test(clientId) ? [] : required("oidc.client_id", "client_id must contain only ASCII characters")),
    ...(hasSecret || pkceEnabled
      ? []
      : required("oidc.client_secret", "client_secret is required if pkce_enabled is false: a client needs one of the two")),
    ...tooLong("oidc.client_secret", clientSecret, MAX_SECRET),
    ...scopeViolations(oidc.additionalScopes),
    ...tooLong("oidc.groups_claim", groupsClaim, MAX_SCOPE),
    ...(IdentityProvider_OIDC_CorrelationRuleSchema.value[correlationRule] === undefined
      ? required("oidc.correlation_rule", "correlation_rule must be one of the known rules")
      : []),
  ];
}

function scopeViolations(scopes: readonly string[]): FieldViolation[] {
  const field = "oidc.additional_scopes";
  if (scopes.length > MAX_SCOPES) return [{ field, description: `additional_scopes must have at most ${MAX_SCOPES} elements` }];
  const isBad = scopes.some((scope) => scope.length > MAX_SCOPE || !SCOPE.test(scope));
  return isBad ? [{ field, description: "each scope must be printable ASCII without spaces, quotes and backslashes" }] : [];
}

function isSame(issuer: string, baseUrl: string): boolean {
  return URL.parse(issuer)?.origin === baseUrl;
}

/**
 * Replaces an unspecified rule by the stored one, or else by the default.
 * @param current the stored configuration that an update starts from
 */
export function settleCorrelationRule(oidc: IdentityProvider_OIDC, current?: IdentityProvider_OIDC): void {
  const settled = current?.correlationRule ?? CorrelationRule.SUB_EQUALS_EXTERNAL_ID;
  if (oidc.correlationRule === CorrelationRule.UNSPECIFIED) oidc.correlationRule = settled;
  if (current !== undefined && oidc.correlationRule !== settled)
    throw invalidArgument("oidc.correlation_rule", "correlation_rule cannot be changed: create another identity provider");
}
