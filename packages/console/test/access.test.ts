/** Screens of roles, bindings and pull tokens, in a real browser, against a real server. */
import assert from "node:assert/strict";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { assertAccessible, createMachine, describeConsole, signInAtProvider, signInByLink } from "./console-world.ts";

await describeConsole("access in the console", ({ world, walk }) => {
  walk("a disabled action names the missing capability and the owners who can grant it", async ({ page }) => {
    await signInAtProvider(page, world, "alice");
    const { uid } = await world.must(IdentitiesService.method.lookupIdentity, { issuer: world.upstream.issuer, subject: "alice" });
    const { roles } = await world.must(RolesService.method.listRoles, { uidp: { inRoot: true } });
    const roleOf = (name: string) => roles.find((role) => role.name === name)?.uid ?? "";
    const bind = (identityUid: string, role: string) =>
      world.must(RoleBindingsService.method.createRoleBinding, {
        parent: world.acme.uid,
        roleBinding: { identityUid, roleUid: roleOf(role) },
      });
    const claimMatch = { iss: { case: "issuer", value: "https://ci.test" }, sub: { case: "subject", value: "keeper" } } as const;
    const keeper = { name: "keeper-of-acme", relationship: { case: "claimMatch", value: claimMatch } } as const;
    const owner = await world.must(IdentitiesService.method.createIdentity, { parent: world.acme.uid, identity: keeper });
    await bind(owner.uid, "owner");
    await bind(uid, "viewer");
    for (const [path, button, capability] of [
      ["identities", "New identity", "identity.create"],
      ["roles", "New role", "roles.create"],
      ["identity-providers", "New identity provider", "identity_providers.create"],
      ["account-associations", "New cloud account", "account_associations.create"],
      [`group/${world.acme.uid}?tab=access`, "Bind a role", "role_bindings.create"],
    ] as const) {
      await page.goto(`${world.baseUrl}/console/${world.acme.uid}/${path}`);
      const disabled = page.getByRole("button", { name: button }).and(page.locator("[aria-disabled=true]"));
      await disabled.waitFor();
      await disabled.focus();
      await page.getByRole("tooltip", { name: /keeper-of-acme/ }).waitFor();
      assert.ok((await page.getByRole("tooltip").innerText()).includes(capability), path);
      await page.keyboard.press("Enter");
      assert.equal(await page.getByRole("dialog").count(), 0);
    }
    await assertAccessible(page);
  });

  walk(
    "a role is created, copied, changed and deleted, and a bound one says why it stays",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/roles"));
      await page.getByRole("button", { name: "New role" }).click();
      const dialog = page.getByRole("dialog", { name: "New role" });
      await dialog.getByRole("textbox", { name: "Name" }).fill("reader");
      await dialog.getByRole("button", { name: "Create" }).click();
      await dialog.getByText("must have at least one capability").first().waitFor();
      await dialog.getByLabel("Find a capability").fill("groups");
      await dialog.getByRole("checkbox", { name: "groups.list", exact: true }).check();
      await dialog.getByRole("checkbox", { name: "groups", exact: true }).and(page.locator("[data-indeterminate]")).waitFor();
      await assertAccessible(page);
      await dialog.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { name: "reader" }).waitFor();
      await page.getByRole("row", { name: "groups list" }).waitFor();
      await assertAccessible(page);
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Find a capability").fill("repo.");
      await page.getByRole("checkbox", { name: "repo.list", exact: true }).check();
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("row", { name: "repo list" }).waitFor();
      await page.getByRole("button", { name: "Duplicate" }).click();
      await page.getByText("Capabilities: 2 chosen").waitFor();
      await page.getByRole("textbox", { name: "Name" }).fill("reader-too");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { name: "reader-too" }).waitFor();
      for (const tab of ["Bindings", "Details", "Events", "Call"]) {
        await page.getByRole("tab", { name: tab }).click();
        await page.getByRole("tabpanel").waitFor();
        await assertAccessible(page);
      }
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByRole("link", { name: "reader", exact: true }).waitFor();
      await page.getByRole("link", { name: "reader-too", exact: true }).waitFor({ state: "detached" });
      await page.getByRole("link", { name: "reader", exact: true }).click();
      await page.getByRole("heading", { name: "reader", exact: true }).waitFor();
      const roleUid = new URL(page.url()).pathname.split("/role/")[1] ?? "";
      const { uid: identityUid } = await createMachine(world, "reading");
      await world.must(RoleBindingsService.method.createRoleBinding, { parent: world.orgUid, roleBinding: { identityUid, roleUid } });
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByRole("alert").getByText("FAILED_PRECONDITION").waitFor();
    },
    { expected: [/status of 400/] },
  );

  walk(
    "an edited description of a role, provider, group or identity leaves what somebody else changed meanwhile",
    async ({ page, screen }) => {
      const role = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST, Capability.CAP_IAM_GROUPS_DELETE]);
      const oidc = { issuer: world.upstream.issuer, clientId: "holt", groupsClaim: "groups", pkceEnabled: true };
      const { roles } = await world.must(RolesService.method.listRoles, { uidp: { inRoot: true } });
      const defaultRole = roles.find(({ name }) => name === "viewer")?.uid ?? "";
      const identityProvider = { name: "shared", defaultRole, configuration: { case: "oidc", value: oidc } } as const;
      const { uid } = await world.must(IdentityProvidersService.method.createIdentityProvider, { parent: world.orgUid, identityProvider });
      await signInByLink(page, world);
      const editDescription = async (path: string, meanwhile: () => Promise<unknown>) => {
        await page.goto(screen(path));
        await page.getByRole("button", { name: "Edit" }).click();
        await page.getByRole("textbox", { name: "Description" }).fill("edited");
        await meanwhile();
        await page.getByRole("button", { name: "Save" }).click();
        await page.getByRole("dialog").waitFor({ state: "detached" });
      };

      await editDescription(`/role/${role}`, () =>
        world.must(RolesService.method.updateRole, {
          role: { uid: role, capabilities: [Capability.CAP_IAM_GROUPS_LIST] },
          updateMask: { paths: ["capabilities"] },
        }),
      );
      const { description, capabilities } = await world.must(RolesService.method.getRole, { uid: role });
      assert.deepEqual([description, capabilities], ["edited", [Capability.CAP_IAM_GROUPS_LIST]]);

      await editDescription(`/identity-provider/${uid}`, () =>
        world.must(IdentityProvidersService.method.updateIdentityProvider, {
          identityProvider: { uid, configuration: { case: "oidc", value: { groupsClaim: "teams" } } },
          updateMask: { paths: ["oidc.groups_claim"] },
        }),
      );
      const provider = await world.must(IdentityProvidersService.method.getIdentityProvider, { uid });
      assert.deepEqual([provider.description, provider.configuration.value?.groupsClaim], ["edited", "teams"]);

      const parent = world.orgUid;
      const { uid: group } = await world.must(GroupsService.method.createGroup, { parent, group: { name: "before" } });
      await editDescription(`/group/${group}`, () =>
        world.must(GroupsService.method.updateGroup, { group: { uid: group, name: "after" }, updateMask: { paths: ["name"] } }),
      );
      const edited = await world.must(GroupsService.method.getGroup, { uid: group });
      assert.deepEqual([edited.description, edited.name], ["edited", "after"]);

      const claimMatch = { iss: { case: "issuer", value: "https://ci.example" }, sub: { case: "subject", value: "job" } } as const;
      const robotOf = { name: "before", relationship: { case: "claimMatch", value: claimMatch } } as const;
      const { uid: robot } = await world.must(IdentitiesService.method.createIdentity, { parent: group, identity: robotOf });
      await editDescription(`/identity/${robot}`, () =>
        world.must(IdentitiesService.method.updateIdentity, { identity: { uid: robot, name: "after" }, updateMask: { paths: ["name"] } }),
      );
      const identity = await world.must(IdentitiesService.method.getIdentity, { uid: robot });
      assert.deepEqual([identity.description, identity.name], ["edited", "after"]);
      // Not before the page is elsewhere: after an edit, it reads its object again.
      await world.must(IdentityProvidersService.method.deleteIdentityProvider, { uid });
    },
  );

  walk("a refused capability is explained as a chain, and a binding at the screen fixes it", async ({ page, screen }) => {
    const group = await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "below" } });
    const { uid } = await createMachine(world, "chained");
    await signInByLink(page, world);
    await page.goto(screen(`/identity/${uid}?tab=roles`));
    await page.getByRole("button", { name: "Bind a role" }).click();
    await page.getByRole("combobox", { name: "Role" }).fill("viewer");
    await page.getByRole("option", { name: "viewer", exact: true }).click();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Bind", exact: true }).click();
    await page.getByRole("row", { name: /viewer.*my-org/ }).waitFor();
    await page.getByRole("link", { name: "Why may it do something" }).click();
    await page.waitForURL(/\/explain\?identity=/);
    const ask = (capability: Capability) =>
      page.goto(screen(`/explain?${new URLSearchParams({ identity: uid, uid: group.uid, capability: String(capability) })}`));
    await ask(Capability.CAP_IAM_GROUPS_LIST);
    await page.getByRole("listitem").getByText("chained").waitFor();
    const chain = page.getByRole("listitem").filter({ hasText: "chained" });
    await chain.filter({ hasText: /chained → .*binding at my-org \(inherited\) → .*role viewer → .*groups\.list/ }).waitFor();
    await assertAccessible(page);
    await ask(Capability.CAP_IAM_GROUPS_CREATE);
    await page.getByText("Not allowed").waitFor();
    await chain
      .filter({ hasText: /role viewer ↛ .*no groups\.create/ })
      .first()
      .waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Bind a role" }).click();
    await page.getByRole("combobox", { name: "Role" }).fill("owner");
    await page.getByRole("option", { name: "owner", exact: true }).click();
    await page.getByRole("button", { name: "Bind", exact: true }).click();
    await page.getByText("Allowed", { exact: true }).waitFor();
    await page.goto(screen(`/group/${group.uid}?tab=access`));
    await page.getByRole("table", { name: /Inherited from my-org/ }).waitFor();
    await page.getByRole("row", { name: /chained.*owner/ }).waitFor();
    await assertAccessible(page);
  });

  walk("a pull token shows its commands and gets a new password", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/pull-tokens"));
    await page.getByRole("button", { name: "New pull token" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("cluster-b");
    await page.getByRole("button", { name: "Create" }).click();
    const created = page.getByRole("dialog", { name: "Pull token cluster-b" });
    const first = await created.getByText(/docker login/).innerText();
    await created.getByRole("button", { name: "I have copied it" }).click();
    await page.getByRole("button", { name: "Commands" }).click();
    await page
      .getByRole("dialog")
      .getByText(/echo 'PASSWORD' \| podman login/)
      .waitFor();
    await assertAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "New password" }).click();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Replace the password" }).click();
    const second = await page
      .getByRole("dialog", { name: "Pull token cluster-b" })
      .getByText(/docker login/)
      .innerText();
    assert.notEqual(second, first);
    const [, password = "", user = ""] = /echo '(.*)' \| docker login -u '(.*)' --password/.exec(second) ?? [];
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
    assert.equal((await fetch(`${world.baseUrl}/v2/`, { headers: { authorization } })).status, 200);
    await page.getByRole("button", { name: "I have copied it" }).click();
    await assertAccessible(page);
  });
});
