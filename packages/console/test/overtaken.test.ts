/** Tests that two people who edit the same object do not overwrite each other's changes without notice. */
import assert from "node:assert/strict";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { assertAccessible, createMachine, describeConsole, signInByLink } from "./console-world.ts";

await describeConsole("two people who edit the same object in the console", ({ world, walk }) => {
  const changeGroup = (uid: string, description: string) =>
    world.must(GroupsService.method.updateGroup, { group: { uid, description }, updateMask: { paths: ["description"] } });

  walk("a value that somebody else has changed meanwhile is replaced only after the form has shown it", async ({ page, screen }) => {
    const { uid } = await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "edited-by-two" } });
    await signInByLink(page, world);
    await page.goto(screen(`/group/${uid}`));
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Description").fill("mine");
    await changeGroup(uid, "theirs");
    await page.getByRole("button", { name: "Save" }).click();
    const alert = page.getByRole("alert").filter({ hasText: "Somebody else has changed this meanwhile" });
    await alert.getByText("Description: now “theirs”").waitFor();
    await assertAccessible(page);
    assert.equal(await page.getByLabel("Description").inputValue(), "mine");
    assert.equal((await world.must(GroupsService.method.getGroup, { uid })).description, "theirs");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal((await world.must(GroupsService.method.getGroup, { uid })).description, "mine");
  });

  walk("a capability that somebody else has added meanwhile is not removed without notice", async ({ page, screen }) => {
    const uid = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    await signInByLink(page, world);
    await page.goto(screen(`/role/${uid}`));
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("checkbox", { name: "groups.delete", exact: true }).check();
    const both = [Capability.CAP_IAM_GROUPS_LIST, Capability.CAP_IAM_ROLES_LIST];
    await world.must(RolesService.method.updateRole, { role: { uid, capabilities: both }, updateMask: { paths: ["capabilities"] } });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("Capabilities: now a list of 2").waitFor();
    assert.deepEqual((await world.must(RolesService.method.getRole, { uid })).capabilities, both);
  });

  walk("a changed part of a proof leaves the part that somebody else changed meanwhile", async ({ page, screen }) => {
    const { uid } = await createMachine(world, "proof-of-two");
    await signInByLink(page, world);
    await page.goto(screen(`/identity/${uid}`));
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Audience").first().fill("mine");
    const claimMatch = { iss: { case: "issuer", value: "https://ci.test" }, sub: { case: "subject", value: "theirs" } } as const;
    const identity = { uid, relationship: { case: "claimMatch", value: claimMatch } } as const;
    await world.must(IdentitiesService.method.updateIdentity, { identity, updateMask: { paths: ["claim_match"] } });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const { relationship } = await world.must(IdentitiesService.method.getIdentity, { uid });
    assert.ok(relationship.case === "claimMatch");
    assert.deepEqual([relationship.value.sub.value, relationship.value.aud.value], ["theirs", "mine"]);
  });
});
