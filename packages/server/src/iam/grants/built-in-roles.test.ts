import assert from "node:assert/strict";
import { test } from "node:test";
import { getOption } from "@bufbuild/protobuf";
import { capabilityDeprecatedOption, isInternalOnly } from "@holt/api";
import { CapabilitySchema } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { builtInRoles } from "./built-in-roles.ts";

test("each built-in role has the documented number of capabilities", () => {
  assert.deepEqual(Object.fromEntries(builtInRoles.map((role) => [role.name, role.capabilities.length])), {
    owner: 147,
    editor: 62,
    viewer: 51,
    limited_owner: 53,
    console_viewer: 45,
    "registry.pull": 10,
    "registry.push": 20,
    "registry.pull_token_creator": 15,
    "apk.pull": 3,
    "apk.push": 5,
    "libraries.java.pull": 2,
    "libraries.java.push": 3,
    "libraries.java.pull_token_creator": 6,
    "libraries.python.pull": 2,
    "libraries.python.push": 3,
    "libraries.python.pull_token_creator": 6,
    "libraries.javascript.pull": 2,
    "libraries.javascript.push": 3,
    "libraries.javascript.pull_token_creator": 6,
    "libraries.dotnet.pull": 2,
    "libraries.dotnet.push": 3,
    "libraries.go.pull": 2,
    "libraries.go.push": 3,
    "guardener.user": 16,
    "guardener.admin": 18,
    "advisories.viewer": 1,
    "advisories.creator": 3,
    "advisories.approver": 4,
    "advisories.admin": 5,
    "actions.viewer": 1,
    "argos.osv.reader": 1,
  });
});

test("no built-in role has a capability that is internal or deprecated", () => {
  for (const role of builtInRoles) {
    for (const capability of role.capabilities) {
      const value = CapabilitySchema.value[capability];
      assert.ok(value, `${role.name} has the unknown capability ${capability}`);
      assert.equal(isInternalOnly(capability), false, `${role.name} has the internal ${value.name}`);
      assert.equal(getOption(value, capabilityDeprecatedOption), false, `${role.name} has the deprecated ${value.name}`);
    }
  }
});

test("the capabilities of a built-in role are sorted by number, without duplicates", () => {
  for (const role of builtInRoles) {
    assert.deepEqual(
      role.capabilities,
      [...new Set(role.capabilities)].sort((a, b) => a - b),
      role.name,
    );
  }
});

test("names and uids of built-in roles are unique, and the uids belong to root", () => {
  assert.equal(new Set(builtInRoles.map((role) => role.name)).size, builtInRoles.length);
  assert.equal(new Set(builtInRoles.map((role) => role.uid)).size, builtInRoles.length);
  for (const role of builtInRoles) assert.match(role.uid, /^[0-9a-f]{40}$/);
});
