import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { JsonText, messageOf } from "./call.ts";

const group = create(GroupSchema, { name: "engineering" });
const text = compileJsonEncoder(GroupSchema)(group);

test("a text that was encoded from a message carries that message", () => {
  assert.equal(new JsonText(GroupSchema, text, group).message(), group);
});

test("a stored text is decoded when its message is needed, and once", () => {
  const stored = new JsonText(GroupSchema, text);
  assert.deepEqual(stored.message(), group);
  assert.equal(stored.message(), stored.message());
  assert.equal(messageOf(stored), stored.message());
});

test("a reply that is a message is answered unchanged", () => {
  assert.equal(messageOf(group), group);
});
