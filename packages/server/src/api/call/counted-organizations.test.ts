import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type Message } from "@bufbuild/protobuf";
import { ResourceLimitsService } from "@holt/api/gen/holt/v1/resource_limits_pb.ts";
import { UIDPFilterSchema } from "@holt/api/gen/platform/common/v1/uidp_pb.ts";
import { Access } from "../../access/capabilities.ts";
import { newUid } from "../../lib/uid.ts";
import { countedOrganizations } from "./counted-organizations.ts";
import type { AccessRule, Operation } from "./operation.ts";

const [org, other, foreign] = [newUid(""), newUid(""), newUid("")] as const;
const access = new Access(
  new Map([
    [org, 1n],
    [newUid(other), 1n],
  ]),
);
const unscoped: AccessRule = { mode: "unscoped", capabilities: 1n };

function counted(rule: AccessRule, request: object, { writes = false, caller = access } = {}): readonly string[] {
  return countedOrganizations({ access: rule, writes } as Operation, request as Message, caller);
}

test("a list counts in the organization of its filter, and without one in all organizations of the caller", () => {
  const uidp = (filter: object) => ({ uidp: create(UIDPFilterSchema, filter) });
  assert.deepEqual(counted(unscoped, uidp({ descendantsOf: org })), [org]);
  assert.deepEqual(counted(unscoped, uidp({ childrenOf: newUid(org) })), [org]);
  assert.deepEqual(counted(unscoped, uidp({ ids: [newUid(org), newUid(org)] })), [org]);
  for (const request of [{}, uidp({}), uidp({ inRoot: true }), uidp({ childrenOf: "/" }), { parent: "" }])
    assert.deepEqual(counted(unscoped, request), [org, other]);
});

test("calls of a caller without rights count in no organization that they name", () => {
  assert.deepEqual(counted(unscoped, { uidp: create(UIDPFilterSchema, { descendantsOf: foreign }) }), []);
  assert.deepEqual(counted(unscoped, { parent: newUid(foreign) }, { writes: true }), []);
});

test("a call counts where it acts, and not at all on the caller's own account or on limits themselves", () => {
  assert.deepEqual(counted({ ...unscoped, mode: "scoped", scopeOf: () => newUid(org), scopeKind: "Group", parentField: undefined }, {}), [
    org,
  ]);
  assert.deepEqual(counted(unscoped, { parent: newUid(org), group: {} }, { writes: true }), [org]);
  assert.deepEqual(counted(unscoped, {}, { writes: true }), []);
  assert.deepEqual(counted({ mode: "unscoped", capabilities: 0n }, {}), []);
  assert.deepEqual(counted({ mode: "public" }, { parent: org }), []);
  const limits = create(ResourceLimitsService.method.updateResourceLimits.input, { resourceLimits: { uid: org } });
  assert.deepEqual(counted(unscoped, limits, { writes: true }), []);
});

test("a caller with rights in very many organizations counts in some of them", () => {
  const many = new Access(new Map(Array.from({ length: 1000 }, () => [newUid(""), 1n])));
  assert.equal(counted(unscoped, {}, { caller: many }).length, 16);
});
