/** Tests that texts are converted to version 1 as parsed messages are. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { GroupSchema as GroupV1Schema } from "@holt/api/gen/platform/iam/v1/groups_pb.ts";
import { IdentitySchema as IdentityV1Schema } from "@holt/api/gen/platform/iam/v1/identities_pb.ts";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { TagSchema as TagV1Schema } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { TagSchema } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { compileJsonConverter } from "./convert-json.ts";
import { compileTextConverter } from "./convert-text.ts";
import type { Differences } from "./field-pairs.ts";

const differences: Differences = {
  "platform.iam.v1.Identity": { renamed: { static: "static_keys" } },
  "platform.registry.v1.Tag": { renamed: { last_updated: "update_time" } },
};

const strange = 'a "quote", a \\ and \\" a brace } ] , ":';
const time = "2024-01-01T00:00:00.000Z";
const keys = { issuer: "https://x", issuerKeys: "{}", expiration: time };
const groups = [
  {},
  { uid: "a", name: strange, description: "\\" },
  { uid: "a", name: "n", description: "", kind: "ORG_KIND_CUSTOMER", status: "ORG_STATUS_READY", verified: true, resourceLimits: { a: 1 } },
];
const identities = [
  { uid: "a", name: strange, description: "", claimMatch: { issuer: strange, claims: { "}": '{"' }, claimPatterns: {} } },
  { uid: "a", name: "n", staticKeys: { subject: "s", ...keys }, lastSeenTime: time },
  { uid: "a", awsIdentity: { awsAccount: "1", awsArn: "arn:{" }, name: "out of order" },
  { uid: "a", unknown: [1, { x: [] }], name: "n" },
];
const tags = [{ uid: "a", name: "n", digest: "sha256:0", createTime: time, updateTime: time, deprecated: true, bundles: ["a", "],"] }];

describe("the conversion of a text to version 1", () => {
  const cases = [
    ["group", GroupSchema, GroupV1Schema, groups],
    ["identity", IdentitySchema, IdentityV1Schema, identities],
    ["tag", TagSchema, TagV1Schema, tags],
  ] as const;
  for (const [name, v2, v1, messages] of cases)
    for (const message of messages)
      for (const [form, text] of [
        ["", JSON.stringify(message)],
        [" with spaces", JSON.stringify(message, undefined, 1)],
      ] as const)
        test(`the text of a ${name}${form} is converted to version 1 like the parsed one: ${JSON.stringify(message).slice(0, 60)}`, () => {
          const expected = compileJsonConverter(v2, v1, differences)(JSON.parse(text) as JsonObject);
          assert.deepEqual(JSON.parse(compileTextConverter(v2, v1, differences)(text)), expected);
        });

  test("a text is converted without changing a byte of the fields that both versions have", () => {
    const text = '{"uid":"a","name":"\\u00e9","description":"","claimMatch":{"issuer":"x","claims":{"b":"1","a":"2"},"claimPatterns":{}}}';
    const expected = text.replace("uid", "id").replace('"claimMatch"', '"lastSeen":null,"createdAt":null,"updatedAt":null,"claimMatch"');
    assert.equal(compileTextConverter(IdentitySchema, IdentityV1Schema, differences)(text), expected);
  });
});
