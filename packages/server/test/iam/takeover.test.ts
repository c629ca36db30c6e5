/** Tests that no caller can gain more rights than it was given. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { uidFromText } from "../../src/lib/uid.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertInvalid, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const { CAP_IAM_IDENTITY_UPDATE, CAP_IAM_IDENTITY_LIST, CAP_IAM_GROUPS_LIST, CAP_IAM_GROUPS_CREATE, CAP_IAM_ROLE_BINDINGS_CREATE } =
  Capability;

const staticKeys = { issuer: "https://intruder.test", subject: "intruder", issuerKeys: "keys" };

describeWithWorld("privilege escalation", (world) => {
  const patch = (uid: string, body: unknown, token: string) => world.raw("PATCH", `/iam/v2/identities/${uid}`, body, token);

  it("a caller that may update an identity cannot make itself one with more rights", async () => {
    const folder = await world.group(world.orgUid);
    const updater = await world.robot(folder, [CAP_IAM_IDENTITY_UPDATE, CAP_IAM_IDENTITY_LIST]);
    const powerful = await world.robot(folder, [CAP_IAM_GROUPS_CREATE]);
    const powerless = await world.robot(folder);
    assertRefused(await patch(powerful.uid, { staticKeys }, updater.token), Code.PERMISSION_DENIED);
    assert.equal((await patch(powerful.uid, { description: "as it was" }, updater.token)).status, 200);
    assert.equal((await patch(powerless.uid, { staticKeys }, updater.token)).status, 200);
  });

  it("a caller that may update an identity cannot make it one that more powerful identities accept", async () => {
    const folder = await world.group(world.orgUid);
    const updater = await world.robot(folder, [CAP_IAM_IDENTITY_UPDATE]);
    const stepping = await world.robot(folder);
    const claimMatch = { issuer: world.baseUrl, subject: stepping.uid };
    const made = await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, { name: "accepting", claimMatch });
    await world.bind(textOf(parse(made.text).uid), await builtInRole(world, "owner"), world.orgUid);
    assertRefused(await patch(stepping.uid, { staticKeys }, updater.token), Code.PERMISSION_DENIED);
  });

  it("binding the uid of another organization gives no access to it", async () => {
    const mallory = await world.user();
    const own = textOf(parse((await world.raw("POST", "/iam/v2/groups", { name: "own" }, mallory.token)).text).uid);
    const viewer = await builtInRole(world, "viewer");
    const bind = (identityUid: string) => world.raw("POST", `/iam/v2/roleBindings/${own}`, { identityUid, roleUid: viewer }, mallory.token);
    assertInvalid(await bind(world.orgUid), "identity_uid");
    assertInvalid(await bind(viewer), "identity_uid");
    // An unused uid may be bound, but an organization that gets that uid later must not be opened by the binding.
    assert.equal((await bind(uidFromText("nobody yet"))).status, 200);
    assertRefused(await world.raw("GET", `/iam/v2/groups/${world.orgUid}`, undefined, mallory.token), Code.PERMISSION_DENIED);
  });

  it("an unreadable role gives the same error whether it exists or not", async () => {
    const folder = await world.group(world.orgUid);
    const binder = await world.robot(folder, [CAP_IAM_ROLE_BINDINGS_CREATE]);
    const hidden = await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]);
    const somebody = uidFromText("somebody");
    const bind = (roleUid: string) => world.raw("POST", `/iam/v2/roleBindings/${folder}`, { identityUid: somebody, roleUid }, binder.token);
    const missing = `${world.orgUid}/0000000000000000`;
    const [there, gone] = [await bind(hidden), await bind(missing)];
    assertRefused(there, Code.PERMISSION_DENIED);
    assert.equal(there.text.replaceAll(hidden, "-"), gone.text.replaceAll(missing, "-"));
  });
});

describeWithWorld("limits of resources", (world) => {
  const claimMatch = { issuer: "https://issuer.test", subject: "s" };
  const post = (body: unknown) => world.raw("POST", `/iam/v2/identities/${world.orgUid}`, body);

  it("a resource is limited to the size that a page of resources can bear", async () => {
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`claim-${index}`, "value"]));
    assertInvalid(await post({ name: "a", claimMatch: { ...claimMatch, claims: many } }), "claim_match.claims");
    assertInvalid(await post({ name: "a", claimMatch: { ...claimMatch, claimPatterns: many } }), "claim_match.claim_patterns");
    assertInvalid(await post({ name: "a", claimMatch: { ...claimMatch, claims: { ["x".repeat(257)]: "y" } } }), "claim_match.claims");
    assertInvalid(
      await post({ name: "a", staticKeys: { ...staticKeys, issuerKeys: "x".repeat(16 * 1024 + 1) } }),
      "static_keys.issuer_keys",
    );
    assertInvalid(await post({ name: "a", company: "x".repeat(513), claimMatch }), "company");
    assert.equal((await post({ name: "a", staticKeys: { ...staticKeys, issuerKeys: "x".repeat(16 * 1024) } })).status, 200);
  });

  it("the depth of the tree is limited by the length of uids, and the deepest group can be deleted", async () => {
    let deepest = await world.group(world.orgUid);
    for (let level = 3; level <= 64; level++) deepest = await world.group(deepest);
    assertInvalid(await world.raw("POST", `/iam/v2/groups/${deepest}`, { name: "one too deep" }), "parent");
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${deepest}`)).status, 200);
  });

  it("a uid with a NUL character matches nothing", async () => {
    for (const resource of ["groups", "roles", "identities", "roleBindings"]) {
      assertRefused(await world.raw("GET", `/iam/v2/${resource}/%00`), Code.NOT_FOUND);
      assertRefused(await world.raw("GET", `/iam/v2/${resource}/%00/a`), Code.NOT_FOUND);
    }
  });
});
