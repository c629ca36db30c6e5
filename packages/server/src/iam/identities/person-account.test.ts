import assert from "node:assert/strict";
import { test } from "node:test";
import { IdentityProvider_OIDC_CorrelationRule } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import type { IdentityProviderRecord } from "./identity-provider-record.ts";
import { memberAccount } from "./person-account.ts";

const provider: IdentityProviderRecord = {
  uid: `${"a".repeat(40)}/${"b".repeat(16)}`,
  organizationUid: "a".repeat(40),
  name: "own",
  issuer: "https://issuer.example.com",
  clientId: "client",
  clientSecret: "",
  pkce: true,
  additionalScopes: [],
  groupsClaim: "",
  correlationRule: IdentityProvider_OIDC_CorrelationRule.SUB_EQUALS_EXTERNAL_ID,
  defaultRole: "",
  version: 0,
};
const context = { issuer: provider.issuer, subject: "ann", audience: "client" };

function emailOf(claims: Record<string, unknown>): string | undefined {
  return memberAccount({ email: "ann@example.com", ...claims }, context, provider, { isPresented: false, isShared: false }).email;
}

test("the email address of an organization's provider counts unless the provider denies that it is verified, as a boolean or a string", () => {
  assert.equal(emailOf({}), "ann@example.com");
  assert.equal(emailOf({ email_verified: true }), "ann@example.com");
  assert.equal(emailOf({ email_verified: "true" }), "ann@example.com");
  assert.equal(emailOf({ email_verified: false }), undefined);
  assert.equal(emailOf({ email_verified: "false" }), undefined);
});
