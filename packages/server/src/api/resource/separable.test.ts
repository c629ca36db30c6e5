import assert from "node:assert/strict";
import { test } from "node:test";
import { ListValueSchema, StructSchema } from "@bufbuild/protobuf/wkt";
import { IdentitySchema, ListIdentitiesResponseSchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { AdvisorySchema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { isSeparable } from "./separable.ts";

test("joined bodies can be separated unless a list within one may hold what begins with a uid", () => {
  assert.equal(isSeparable(IdentitySchema), true);
  // Users of an image have a uid behind their name, which is always written.
  assert.equal(isSeparable(RepoSchema), true);
  assert.equal(isSeparable(AdvisorySchema), false);
  assert.equal(isSeparable(ListIdentitiesResponseSchema), false);
  for (const anyJson of [StructSchema, ListValueSchema]) assert.equal(isSeparable(anyJson), false);
});
