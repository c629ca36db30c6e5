import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  Identity_AWSIdentitySchema,
  Identity_ClaimMatchSchema,
  Identity_StaticKeysSchema,
} from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { createAudienceList } from "./audience.ts";
import { assertAwsCallerMatches } from "./aws-match.ts";
import { assertClaimsMatch, assertStaticKeysMatch } from "./claim-match.ts";
import type { Claims } from "./jwt.ts";

const ISSUER = "https://ci.test";
const AUDIENCES = createAudienceList(["https://issuer.holt.test"]);
const CLAIMS: Claims = { iss: ISSUER, sub: "repo:acme/site", aud: "issuer.holt.test" };
const EXACT = { iss: { case: "issuer", value: ISSUER }, sub: { case: "subject", value: "repo:acme/site" } } as const;

function match(init: MessageInitShape<typeof Identity_ClaimMatchSchema>, claims: Claims = CLAIMS, issuer = ISSUER): string {
  return assertClaimsMatch(create(Identity_ClaimMatchSchema, init), { issuer, claims }, AUDIENCES);
}

function refuses(claim: string): (error: unknown) => boolean {
  return (error) => error instanceof HoltError && error.code === Code.PERMISSION_DENIED && error.message.includes(`invalid "${claim}"`);
}

test("issuer and subject match exactly or by pattern, and an identity without them accepts no token", () => {
  match(EXACT);
  match({ iss: { case: "issuerPattern", value: "https://(ci|cd)\\.test" }, sub: { case: "subjectPattern", value: "repo:acme/.*" } });
  assert.throws(() => match({ ...EXACT, iss: { case: "issuer", value: `${ISSUER}/` } }), refuses("iss"));
  assert.throws(() => match({ ...EXACT, iss: { case: "issuerPattern", value: "https://ci" } }), refuses("iss"));
  assert.throws(() => match({ ...EXACT, iss: { case: "issuerPattern", value: "(" } }), refuses("iss"));
  assert.throws(() => match({ ...EXACT, sub: { case: "subject", value: "repo:acme/Site" } }), refuses("sub"));
  assert.throws(() => match({ ...EXACT, sub: { case: "subjectPattern", value: "repo:acme" } }), refuses("sub"));
  assert.throws(() => match({ sub: EXACT.sub }), refuses("iss"));
  assert.throws(() => match({ iss: EXACT.iss }), refuses("sub"));
  assert.throws(() => match({ ...EXACT, sub: { case: "subjectPattern", value: ".*" } }, { ...CLAIMS, sub: undefined }), refuses("sub"));
  assert.throws(
    () => match({ ...EXACT, sub: { case: "subjectPattern", value: ".*" } }, { ...CLAIMS, sub: ["repo:acme/site"] }),
    refuses("sub"),
  );
});

test("Google's issuer matches under both of its names", () => {
  match({ ...EXACT, iss: { case: "issuer", value: "accounts.google.com" } }, CLAIMS, "https://accounts.google.com");
});

test("an identity without an audience accepts tokens for this server, as a URL or as a bare host", () => {
  for (const aud of ["https://issuer.holt.test", "issuer.holt.test", ["other", "issuer.holt.test"]]) match(EXACT, { ...CLAIMS, aud });
  for (const aud of [undefined, "", "other", [], ["other"], [["issuer.holt.test"]], { "issuer.holt.test": 1 }])
    assert.throws(() => match(EXACT, { ...CLAIMS, aud }), refuses("aud"));
});

test("an audience of the identity replaces this server's audience", () => {
  assert.equal(match({ ...EXACT, aud: { case: "audience", value: "api" } }, { ...CLAIMS, aud: ["x", "api"] }), "api");
  assert.equal(match({ ...EXACT, aud: { case: "audiencePattern", value: "a.*" } }, { ...CLAIMS, aud: "api" }), "api");
  assert.throws(() => match({ ...EXACT, aud: { case: "audience", value: "api" } }), refuses("aud"));
  assert.throws(() => match({ ...EXACT, aud: { case: "audiencePattern", value: "a" } }, { ...CLAIMS, aud: "api" }), refuses("aud"));
});

test("custom claims of any type are compared as strings, and a list matches by any of its elements", () => {
  const claims: Claims = {
    ...CLAIMS,
    n: 17,
    t: true,
    z: null,
    list: ["a", "b", 3],
    o: { k: "v" },
    email: "a@b.test",
    big: 2 ** 53 + 2,
    f: 1.5,
  };
  match({ ...EXACT, claims: { n: "17", t: "true", z: "null", list: "b", o: '{"k":"v"}', email: "a@b.test", f: "1.5" } }, claims);
  match({ ...EXACT, claims: { list: "3" }, claimPatterns: { email: ".*@b\\.test", n: "\\d+", list: "[ab]" } }, claims);
  for (const [name, value] of [
    ["n", "18"],
    ["t", "1"],
    ["list", "c"],
    ["list", '["a","b",3]'],
    ["email", "A@b.test"],
    ["missing", ""],
    ["constructor", ""],
    ["big", "9007199254740994"],
  ] as const) {
    assert.throws(() => match({ ...EXACT, claims: { [name]: value } }, claims), refuses(name), name);
  }
  for (const [name, value] of [
    ["email", "b.test"],
    ["missing", ".*"],
    ["toString", ".*"],
    ["list", "ab"],
  ] as const) {
    assert.throws(() => match({ ...EXACT, claimPatterns: { [name]: value } }, claims), refuses(name), name);
  }
});

test("static keys match issuer, subject and audience exactly until they expire", () => {
  const now = new Date("2030-01-01T00:00:00Z");
  const staticKeys = (init: MessageInitShape<typeof Identity_StaticKeysSchema>, claims: Claims = CLAIMS, issuer = ISSUER): string =>
    assertStaticKeysMatch(
      create(Identity_StaticKeysSchema, { issuer: ISSUER, subject: "repo:acme/site", issuerKeys: "keys", ...init }),
      { issuer, claims },
      AUDIENCES,
      now,
    );
  staticKeys({});
  staticKeys({ expirationTime: timestampFromDate(new Date(now.getTime() + 1)) });
  staticKeys({ audiences: ["mine"] }, { ...CLAIMS, aud: "mine" });
  assert.throws(() => staticKeys({ audiences: ["mine"] }), refuses("aud"));
  assert.throws(() => staticKeys({ audiences: ["*.test"] }, { ...CLAIMS, aud: "a.test" }), refuses("aud"));
  assert.throws(() => staticKeys({}, { ...CLAIMS, aud: "mine" }), refuses("aud"));
  assert.throws(() => staticKeys({}, { ...CLAIMS, sub: "other" }), refuses("sub"));
  assert.throws(() => staticKeys({ subject: "" }, { ...CLAIMS, sub: "" }), refuses("sub"));
  assert.throws(() => staticKeys({}, CLAIMS, "https://other.test"), refuses("iss"));
  assert.throws(
    () => staticKeys({ expirationTime: timestampFromDate(now) }),
    (error) => error instanceof HoltError && error.code === Code.PERMISSION_DENIED && error.message.includes("expired"),
  );
});

test("an AWS caller matches by account, ARN and user ID", () => {
  const caller = { account: "123456789012", arn: "arn:aws:sts::123456789012:assumed-role/ci/i-1", userId: "AROA:i-1" };
  const aws = (init: MessageInitShape<typeof Identity_AWSIdentitySchema>): void =>
    assertAwsCallerMatches(
      create(Identity_AWSIdentitySchema, {
        awsAccount: caller.account,
        awsArn: { case: "arn", value: caller.arn },
        awsUserId: { case: "userId", value: caller.userId },
        ...init,
      }),
      caller,
    );
  aws({});
  aws({
    awsArn: { case: "arnPattern", value: "arn:aws:sts::\\d+:assumed-role/ci/.*" },
    awsUserId: { case: "userIdPattern", value: "AROA:.*" },
  });
  assert.throws(() => aws({ awsAccount: "123456789013" }), refuses("account"));
  assert.throws(() => aws({ awsAccount: "" }), refuses("account"));
  assert.throws(() => aws({ awsArn: { case: "arnPattern", value: "assumed-role/ci" } }), refuses("arn"));
  assert.throws(() => aws({ awsArn: { case: undefined } }), refuses("arn"));
  assert.throws(() => aws({ awsUserId: { case: "userId", value: "AROA" } }), refuses("user_id"));
  assert.throws(() => aws({ awsUserId: { case: undefined } }), refuses("user_id"));
});
