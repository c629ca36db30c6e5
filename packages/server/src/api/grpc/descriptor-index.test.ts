import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerReflection } from "@holt/api/gen/grpc/reflection/v1/reflection_pb.ts";
import { DescriptorIndex } from "./descriptor-index.ts";

test("a file is serialized once, however often callers ask for it", () => {
  const { proto } = ServerReflection.file;
  const index = new DescriptorIndex();
  index.add(proto);
  const [first] = index.withImports(proto, new Set());
  const [second] = index.withImports(proto, new Set());
  assert.ok(first !== undefined && first.length > 0);
  assert.equal(second, first);
});
