import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { services } from "@holt/api";
import { GroupSchema, ListGroupsResponseSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { arbitraryMessage } from "../../../test/harness/arbitrary-message.ts";
import { everyKind } from "../../../test/harness/every-kind.ts";
import fc from "../../../test/harness/property.ts";
import { compileJsonEncoder, messageFromJson } from "../../lib/proto-json.ts";
import { compileBinaryEncoder } from "./binary-from-json.ts";
import { frameMessage } from "./message-framing.ts";

const outputs = [...new Set(services.flatMap((service) => service.methods.map(({ output }) => output)))];

function assertLikeLibrary(schema: DescMessage, message: Message): void {
  const encode = compileBinaryEncoder(schema);
  if (encode === undefined) return;
  const text = compileJsonEncoder(schema)(message);
  assert.deepEqual(encode(text), frameMessage(toBinary(schema, messageFromJson(schema, text))), text);
}

describe("encoding canonical JSON as a gRPC message", () => {
  for (const schema of [...outputs, everyKind()])
    it(`the JSON of ${schema.typeName} becomes the same bytes as with protobuf-es`, () => {
      fc.assert(
        fc.property(arbitraryMessage(schema), (message) => assertLikeLibrary(schema, message)),
        { numRuns: 20 },
      );
    });

  it("groups, identities and lists of groups become binary without protobuf-es", () => {
    for (const schema of [GroupSchema, IdentitySchema, ListGroupsResponseSchema]) assert.ok(compileBinaryEncoder(schema), schema.typeName);
  });

  it("the JSON of messages of any size becomes the same bytes as with protobuf-es", () => {
    for (const length of [0, 1, 100, 127, 128, 129, 16_383, 16_384, 70_000, 300_000, 3_000_000]) {
      const group = create(GroupSchema, { name: "x".repeat(length), description: "ÿ漢😀".repeat(length / 3) });
      assertLikeLibrary(GroupSchema, group);
      assertLikeLibrary(ListGroupsResponseSchema, create(ListGroupsResponseSchema, { groups: [group, group] }));
    }
  });
});
