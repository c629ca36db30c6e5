/** A refusal names the resource that does not exist, whichever operation and service misses it. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { assertInvalid, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

/** An operation with the place of a uid, and the type of the resource that the uid stands for. */
const OPERATIONS = [
  ["GET", "/registry/v2/repos/*/readme", "registry.holt.dev/Repo"],
  ["PATCH", "/registry/v2/repos/*/readme", "registry.holt.dev/Repo"],
  ["GET", "/registry/v2/repos/*/digests/sha256:0/architectures", "registry.holt.dev/Repo"],
  ["GET", "/registry/v2/repos/*/digests/sha256:0/size", "registry.holt.dev/Repo"],
  ["POST", "/iam/v2/accountAssociations/*:checkAccountAssociation", "iam.holt.dev/AccountAssociation"],
  ["POST", "/iam/v2/identityProviders/*:generateScimToken", "iam.holt.dev/IdentityProvider"],
  ["POST", "/iam/v2/identityProviders/*:revokeScimToken", "iam.holt.dev/IdentityProvider"],
  ["GET", "/iam/v2/terms/*", "iam.holt.dev/Group"],
  ["POST", "/iam/v1/identityProviders/*:generateScimToken", "iam.holt.dev/IdentityProvider"],
  ["GET", "/registry/v1/repotagssummary/*", "registry.holt.dev/Repo"],
  ["GET", "/registry/v1/settings/*", "iam.holt.dev/Group"],
  ["POST", "/holt/v1/pullTokens/*:rotate", "holt.holt.dev/PullToken"],
] as const;

/** An operation that creates something, the type of its parent, and the field that names the parent. */
const CREATIONS = [
  ["/registry/v2/tags/*", "registry.holt.dev/Repo", "parent"],
  ["/registry/v2/repos/*", "iam.holt.dev/Group", "parent"],
  ["/events/v2/subscriptions/*", "iam.holt.dev/Group", "parent"],
  ["/iam/v2/externalGroupRoleMappings/*", "iam.holt.dev/IdentityProvider", "parent"],
  ["/registry/v1/tags/*", "registry.holt.dev/Repo", "repo_id"],
  ["/registry/v1/repos/*", "iam.holt.dev/Group", "parent_id"],
  ["/iam/v1/group_invites/*", "iam.holt.dev/Group", "group"],
  ["/iam/v1/account_associations/*", "iam.holt.dev/Group", "group"],
  ["/iam/v1/externalGroupRoleMappings/*", "iam.holt.dev/IdentityProvider", "parent_id"],
] as const;

describeWithWorld("missing resources", (world) => {
  const refusedFor = async (verb: string, path: string, uid: string) => {
    const body = verb === "GET" ? undefined : { providerType: 1 };
    const { message, details } = assertRefused(await world.raw(verb, path.replace("*", uid), body), Code.NOT_FOUND);
    return { message, type: details[1]?.resourceType, name: details[1]?.resourceName };
  };

  it("a uid of an unknown organization or a malformed one is refused with the resource that it stands for", async () => {
    for (const [verb, path, type] of OPERATIONS) {
      for (const uid of [`${newUid("")}/${"0".repeat(16)}`, "nonsense"]) {
        const message = `Not found: ${type.split("/")[1]} "${uid}"`;
        assert.deepEqual(await refusedFor(verb, path, uid), { message, type, name: uid }, path);
      }
    }
  });

  it("a parent in an unknown organization is refused with its kind, and a malformed one with its field", async () => {
    for (const [path, type, field] of CREATIONS) {
      const uid = `${newUid("")}/${"0".repeat(16)}`;
      assert.equal((await refusedFor("POST", path, uid)).type, type, path);
      assertInvalid(await world.raw("POST", path.replace("*", "nonsense"), {}), field);
    }
  });

  it("a group that a service does not find is a resource of iam", async () => {
    const uid = `${world.orgUid}/${"0".repeat(16)}`;
    for (const [path, body] of [
      ["/events/v2/subscriptions", { sink: "https://example.com" }],
      ["/registry/v2/repos", { name: "image" }],
      ["/iam/v2/roles", { name: "role", capabilities: ["groups.list"] }],
    ] as const) {
      const { details } = assertRefused(await world.raw("POST", `${path}/${uid}`, body), Code.NOT_FOUND);
      assert.deepEqual([details[1]?.resourceType, details[1]?.resourceName], ["iam.holt.dev/Group", uid], path);
    }
  });
});
