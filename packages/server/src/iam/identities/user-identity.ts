/**
 * Builds the identity of a person who logs in with another issuer's account. Its uid is derived from the account, so
 * that roles can be bound before the first login. Pure.
 */
import { create } from "@bufbuild/protobuf";
import { type Identity, Identity_ClaimMatchSchema, IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { uidFromText } from "../../lib/uid.ts";
import { normalizeIssuer } from "../tokens/jwt.ts";
import type { Profile } from "../tokens/subject.ts";

/** The same on every server, and never changes. */
export function userIdentityUid(issuer: string, subject: string): string {
  return uidFromText(`${normalizeIssuer(issuer)}\n${subject}`);
}

export function newUserIdentity(issuer: string, subject: string, { email, emailVerified }: Profile, now: Date): Identity {
  const time = timestampFromDate(now);
  return create(IdentitySchema, {
    uid: userIdentityUid(issuer, subject),
    name: identityName(email ?? subject),
    email: emailVerified ? (email ?? "") : "",
    emailUnverified: emailVerified ? "" : (email ?? ""),
    lastSeenTime: time,
    createTime: time,
    updateTime: time,
    relationship: {
      case: "claimMatch",
      value: create(Identity_ClaimMatchSchema, {
        iss: { case: "issuer", value: normalizeIssuer(issuer) },
        sub: { case: "subject", value: subject },
      }),
    },
  });
}

/** Identity names may contain only lower-case letters, digits, spaces, dots, underscores and hyphens. */
export function identityName(text: string): string {
  return (
    text
      .toLowerCase()
      .replace(/[^a-z0-9 ._-]/g, "-")
      .slice(0, 255) || "user"
  );
}
