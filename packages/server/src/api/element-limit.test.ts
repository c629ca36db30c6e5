import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { GroupSchema, ListGroupsRequestSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { BatchCreateRoleBindingsRequestSchema } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RoleSchema } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { assertFewFields, assertFewMarks, MAX_ELEMENTS } from "./element-limit.ts";

const tooMany = { code: 3, message: `Invalid argument: the request has more than ${MAX_ELEMENTS} elements` };

function batch(requests: MessageInitShape<typeof BatchCreateRoleBindingsRequestSchema>["requests"]): Uint8Array {
  return toBinary(BatchCreateRoleBindingsRequestSchema, create(BatchCreateRoleBindingsRequestSchema, { requests: requests ?? [] }));
}

test("fields count at every level of nesting", () => {
  assertFewFields(BatchCreateRoleBindingsRequestSchema, batch(Array(MAX_ELEMENTS).fill({})));
  assert.throws(() => assertFewFields(BatchCreateRoleBindingsRequestSchema, batch(Array(MAX_ELEMENTS + 1).fill({}))), tooMany);
  const nested = batch(Array(MAX_ELEMENTS / 2 + 1).fill({ roleBinding: {} }));
  assert.throws(() => assertFewFields(BatchCreateRoleBindingsRequestSchema, nested), tooMany);
});

test("the bytes of a string are not elements, and an unknown field is one element", () => {
  assertFewFields(
    ListGroupsRequestSchema,
    toBinary(ListGroupsRequestSchema, create(ListGroupsRequestSchema, { name: "a".repeat(1_000_000) })),
  );
  assertFewFields(ListGroupsRequestSchema, Buffer.concat([Buffer.from([0xfa, 0x3f, 0xc0, 0x84, 0x3d]), Buffer.alloc(1_000_000)]));
});

test("map entries and packed numbers count as elements", () => {
  const resourceLimits = Object.fromEntries(Array.from({ length: MAX_ELEMENTS }, (_, i) => [`k${i}`, 1]));
  assert.throws(() => assertFewFields(GroupSchema, toBinary(GroupSchema, create(GroupSchema, { resourceLimits }))), tooMany);
  const capabilities = Array(MAX_ELEMENTS + 1).fill(1);
  const packed = toBinary(RoleSchema, create(RoleSchema, { capabilities }));
  assert.throws(() => assertFewFields(RoleSchema, packed), tooMany);
});

test("separators of JSON and forms count, also inside strings", () => {
  assertFewMarks(Buffer.from("x".repeat(1_000_000)));
  for (const text of ["{},", "[", "a=&", '{"a":"x,y,z"}']) assert.throws(() => assertFewMarks(Buffer.from(text.repeat(30_000))), tooMany);
});
