/** The rules of an identity's relationship: there is exactly one, and each kind has required fields and limits. */
import {
  type Identity,
  type Identity_AWSIdentity,
  type Identity_ClaimMatch,
  type Identity_StaticKeys,
  ServicePrincipal,
  ServicePrincipalSchema,
} from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { assertNone, descriptionViolations } from "../../api/resource/names.ts";
import { dateFromTimestamp, timestampFromDate } from "../../lib/clock.ts";
import { type FieldViolation, invalidArgument } from "../../lib/errors.ts";
import { isIssuerUrl } from "../tokens/issuer-url.ts";
import { patternViolations } from "../tokens/pattern.ts";

const MAX_STATIC_KEY_LIFE_MS = 365 * 24 * 60 * 60 * 1000;
/** Characters of a value that is compared with a claim of a token. Tokens themselves have at most 16 kB. */
const MAX_TEXT = 512;
const MAX_KEYS = 16 * 1024;
const MAX_CLAIMS = 32;
const MAX_CLAIM_NAME = 256;

/**
 * Throws INVALID_ARGUMENT with every violation.
 * @param current the stored identity that an update starts from: its expiration may stay, even if it has passed
 */
export function assertRelationship(identity: Identity, now: Date, current?: Identity): void {
  const { relationship } = identity;
  const violations = [...descriptionViolations(identity.description), ...tooLong("company", identity.company)];
  switch (relationship.case) {
    case "claimMatch":
      violations.push(...claimMatchViolations(relationship.value));
      break;
    case "staticKeys":
      violations.push(...staticKeysViolations(relationship.value, now, current));
      break;
    case "awsIdentity":
      violations.push(...awsViolations(relationship.value));
      break;
    case "servicePrincipal":
      if (relationship.value === ServicePrincipal.UNSPECIFIED) throw missing();
      if (ServicePrincipalSchema.value[relationship.value] === undefined)
        violations.push({ field: "service_principal", description: "service_principal must be one of the known principals" });
      break;
    default:
      throw missing();
  }
  assertNone(violations);
}

function missing(): Error {
  return invalidArgument("relationship", "exactly one of claim_match, static_keys, aws_identity and service_principal is required");
}

function claimMatchViolations({ iss, sub, aud, claims, claimPatterns }: Identity_ClaimMatch): FieldViolation[] {
  return [
    ...(iss.case === undefined || iss.value === "" ? required("claim_match.issuer", "issuer or issuer_pattern is required") : []),
    ...(sub.case === undefined || sub.value === "" ? required("claim_match.subject", "subject or subject_pattern is required") : []),
    ...(iss.case === "issuer" && iss.value !== "" ? issuerViolations("claim_match.issuer", iss.value) : []),
    ...patternViolations("claim_match.issuer_pattern", iss.case === "issuerPattern" ? iss.value : ""),
    ...patternViolations("claim_match.subject_pattern", sub.case === "subjectPattern" ? sub.value : ""),
    ...patternViolations("claim_match.audience_pattern", aud.case === "audiencePattern" ? aud.value : ""),
    ...claimMapViolations("claim_match.claims", claims),
    ...claimMapViolations("claim_match.claim_patterns", claimPatterns),
    ...Object.entries(claimPatterns)
      .slice(0, MAX_CLAIMS)
      .flatMap(([claim, pattern]) => patternViolations(`claim_match.claim_patterns.${claim}`, pattern)),
    ...Object.entries(claims).flatMap(([claim, value]) => tooLong(`claim_match.claims.${claim}`, value)),
    ...(sub.case === "subject" ? tooLong("claim_match.subject", sub.value) : []),
    ...(aud.case === "audience" ? tooLong("claim_match.audience", aud.value) : []),
  ];
}

function claimMapViolations(field: string, map: Readonly<Record<string, string>>): FieldViolation[] {
  const names = Object.keys(map);
  if (names.length > MAX_CLAIMS) return [{ field, description: `must have at most ${MAX_CLAIMS} claims` }];
  const isTooLong = names.some((name) => name.length > MAX_CLAIM_NAME);
  return isTooLong ? [{ field, description: `the name of a claim must have at most ${MAX_CLAIM_NAME} characters` }] : [];
}

function staticKeysViolations(keys: Identity_StaticKeys, now: Date, current: Identity | undefined): FieldViolation[] {
  const violations = [
    ...(keys.issuer === "" ? required("static_keys.issuer", "issuer is required") : tooLong("static_keys.issuer", keys.issuer)),
    ...(keys.subject === "" ? required("static_keys.subject", "subject is required") : tooLong("static_keys.subject", keys.subject)),
    ...(keys.issuerKeys === ""
      ? required("static_keys.issuer_keys", "issuer_keys is required: the JWKS that verifies this identity's tokens")
      : tooLong("static_keys.issuer_keys", keys.issuerKeys, MAX_KEYS)),
    ...keys.audiences.flatMap((audience) => tooLong("static_keys.audiences", audience)),
    ...(keys.audiences.length > 1 ? [{ field: "static_keys.audiences", description: "audiences must have at most one value" }] : []),
  ];
  const latest = latestExpiration(keys, now, current);
  const expiration = keys.expirationTime === undefined ? latest : dateFromTimestamp(keys.expirationTime);
  if (keys.expirationTime !== undefined && expiration.getTime() === storedExpiration(current)) return violations;
  if (Number.isNaN(expiration.getTime()))
    violations.push({ field: "static_keys.expiration_time", description: "expiration_time must be a valid time" });
  if (expiration <= now) violations.push({ field: "static_keys.expiration_time", description: "expiration_time must be in the future" });
  if (expiration > latest)
    violations.push({
      field: "static_keys.expiration_time",
      description: "expiration_time must be at most 365 days after the keys were stored",
    });
  return violations;
}

/** The time of keys begins when they are stored. An update with the same keys does not extend it. */
function latestExpiration({ issuerKeys }: Identity_StaticKeys, now: Date, current: Identity | undefined): Date {
  const stored = current?.relationship.case === "staticKeys" ? current.relationship.value : undefined;
  if (stored?.issuerKeys !== issuerKeys || current?.createTime === undefined) return new Date(now.getTime() + MAX_STATIC_KEY_LIFE_MS);
  const end = dateFromTimestamp(current.createTime).getTime() + MAX_STATIC_KEY_LIFE_MS;
  return new Date(Math.max(end, storedExpiration(current) ?? 0));
}

/**
 * Gives static keys without an expiration the latest one, and cuts a given one to the milliseconds that are stored.
 * @param current as in `assertRelationship`
 */
export function settleExpiration({ relationship }: Identity, now: Date, current?: Identity): void {
  if (relationship.case !== "staticKeys") return;
  const keys = relationship.value;
  const expiration = keys.expirationTime === undefined ? latestExpiration(keys, now, current) : dateFromTimestamp(keys.expirationTime);
  keys.expirationTime = timestampFromDate(expiration);
}

function storedExpiration(current: Identity | undefined): number | undefined {
  const { relationship } = current ?? {};
  if (relationship?.case !== "staticKeys" || relationship.value.expirationTime === undefined) return undefined;
  return dateFromTimestamp(relationship.value.expirationTime).getTime();
}

function awsViolations({ awsAccount, awsArn, awsUserId }: Identity_AWSIdentity): FieldViolation[] {
  return [
    ...(/^[0-9]{12}$/.test(awsAccount) ? [] : required("aws_identity.aws_account", 'AWS account ID must match "^[0-9]{12}$"')),
    ...(awsArn.case === undefined || awsArn.value === "" ? required("aws_identity.arn", "arn or arn_pattern is required") : []),
    ...(awsUserId.case === undefined || awsUserId.value === ""
      ? required("aws_identity.user_id", "user_id or user_id_pattern is required")
      : []),
    ...tooLong("aws_identity.arn", awsArn.value ?? ""),
    ...tooLong("aws_identity.user_id", awsUserId.value ?? ""),
    ...patternViolations("aws_identity.arn_pattern", awsArn.case === "arnPattern" ? awsArn.value : ""),
    ...patternViolations("aws_identity.user_id_pattern", awsUserId.case === "userIdPattern" ? awsUserId.value : ""),
  ];
}

export function issuerViolations(field: string, issuer: string): FieldViolation[] {
  const { protocol, hostname } = URL.parse(issuer) ?? { protocol: "", hostname: "" };
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
  if (isIssuerUrl(issuer) && (protocol === "https:" || isLoopback)) return [];
  return [{ field, description: "issuer must be an https URL (http only for a loopback host) without query, fragment and user" }];
}

export function required(field: string, description: string): FieldViolation[] {
  return [{ field, description }];
}

export function tooLong(field: string, text: string, most = MAX_TEXT): FieldViolation[] {
  return text.length > most ? [{ field, description: `must have at most ${most} characters` }] : [];
}
