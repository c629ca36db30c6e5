import assert from "node:assert/strict";
import { test } from "node:test";
import { create, toJson } from "@bufbuild/protobuf";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import {
  GenerateScimTokenResponseSchema,
  IdentityProviderSchema,
  ListIdentityProvidersResponseSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { withoutSecrets } from "./without-secrets.ts";

const provider = {
  uid: "u",
  configuration: { case: "oidc", value: { issuer: "https://a.example.com", clientId: "c", clientSecret: "hush" } },
} as const;
const open = { uid: "u", oidc: { issuer: "https://a.example.com", clientId: "c" } };

test("secrets are left out, wherever they are in a message", () => {
  const told = withoutSecrets(GenerateScimTokenResponseSchema, create(GenerateScimTokenResponseSchema, { token: "hush", etag: "e" }));
  assert.deepEqual(toJson(GenerateScimTokenResponseSchema, told as never), { etag: "e" });
  const inside = withoutSecrets(IdentityProviderSchema, create(IdentityProviderSchema, provider));
  assert.deepEqual(toJson(IdentityProviderSchema, inside as never), open);
  const page = create(ListIdentityProvidersResponseSchema, { identityProviders: [provider, provider] });
  const listed = withoutSecrets(ListIdentityProvidersResponseSchema, page);
  assert.deepEqual(toJson(ListIdentityProvidersResponseSchema, listed as never), { identityProviders: [open, open] });
});

test("the message itself keeps them, and one that has none is not copied", () => {
  const message = create(IdentityProviderSchema, provider);
  withoutSecrets(IdentityProviderSchema, message);
  assert.equal(message.configuration.value?.clientSecret, "hush");
  const group = create(GroupSchema, { name: "g" });
  assert.equal(withoutSecrets(GroupSchema, group), group);
});
