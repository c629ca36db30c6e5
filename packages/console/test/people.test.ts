/** Screens of people, machines, roles and access, in a real browser, against a real server. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import type { Page } from "playwright-core";
import { startIssuer } from "../../server/test/harness/oidc-issuer.ts";
import { assertAccessible, createMachine, describeConsole, signInAtProvider, signInByLink } from "./console-world.ts";

await describeConsole("people, machines and access in the console", ({ world, walk }) => {
  const identityNamed = async (name: string) => {
    const { identities } = await world.must(IdentitiesService.method.listIdentities, { uidp: { childrenOf: world.orgUid }, name });
    assert.equal(identities.length, 1, name);
    return identities[0]!;
  };
  const choose = async (page: Page, kind: string) => page.getByRole("radio", { name: kind, exact: true }).check();

  // First, because the clock of the server stands still, and it refuses tokens that the provider signs much later.
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
    "the wizard checks a token against what is typed, names the claim that fails, and saves what matches",
    async ({ page, screen }) => {
      await using issuer = await startIssuer({ now: world.clock.now });
      const token = await issuer.sign({ iss: issuer.issuer, sub: "project_path:acme/shop:ref_type:branch:ref:main", aud: world.baseUrl });
      await signInByLink(page, world);
      await page.goto(screen("/identities"));
      await page.getByRole("button", { name: "New identity" }).click();
      await page.getByRole("radio", { name: "A person", exact: true }).waitFor();
      await assertAccessible(page);
      await choose(page, "GitLab CI");
      await page.getByRole("textbox", { name: "Name" }).fill("shop pipeline");
      await page.getByLabel("Project").fill("acme/shop");
      await page.getByLabel("Branch").fill("release");
      await page.getByRole("textbox", { name: "Issuer" }).fill("http://not-https.test");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByText("issuer must be an https URL").first().waitFor();
      assert.equal(await page.getByRole("textbox", { name: "Issuer" }).getAttribute("aria-invalid"), "true");
      await assertAccessible(page);
      await page.getByRole("textbox", { name: "Issuer" }).fill("https://gitlab.com");
      await page.getByLabel("A token of the machine").fill(token);
      await page.getByRole("button", { name: "Check the token" }).click();
      await page.getByRole("status").getByText("The claim iss does not match").waitFor();
      await page.getByRole("textbox", { name: "Issuer" }).fill(issuer.issuer);
      await page.getByText("The fields have changed since this check").waitFor();
      await page.getByRole("button", { name: "Check the token" }).click();
      await page.getByText(/The claim sub does not match: the identity expects ".*:release"; the token has ".*:main"/).waitFor();
      await page.getByRole("row", { name: "sub (does not match)" }).waitFor();
      await assertAccessible(page);
      const before = await world.must(IdentitiesService.method.listIdentities, { uidp: { childrenOf: world.orgUid } });
      assert.deepEqual(before.identities, []);
      await page.getByLabel("Branch").fill("main");
      await page.getByRole("button", { name: "Check the token" }).click();
      await page.getByText("The token would sign the machine in").waitFor();
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { name: "shop pipeline" }).waitFor();
      await assertAccessible(page);
      const { relationship, uid } = await identityNamed("shop pipeline");
      assert.equal(relationship.case === "claimMatch" && relationship.value.sub.value, "project_path:acme/shop:ref_type:branch:ref:main");
      const exchanged = await fetch(`${world.baseUrl}/sts/exchange`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: new URLSearchParams({ identity: uid }),
      });
      assert.equal(exchanged.status, 200);
    },
    { expected: [/status of 400/] },
  );

  walk("the wizard writes the proofs of each kind of machine", async ({ page, screen }) => {
    await signInByLink(page, world);
    const kinds = [
      { kind: "GitHub Actions", fill: { Repository: "acme/a.b", Branch: "" }, sub: "repo:acme/a\\.b:.*" },
      { kind: "GitHub Actions", fill: { Repository: "acme/a", Branch: "main" }, sub: "repo:acme/a:ref:refs/heads/main" },
      { kind: "GitHub Actions", fill: { Repository: "acme/a", Environment: "live" }, sub: "repo:acme/a:environment:live" },
      { kind: "GitLab CI", fill: { Project: "acme/a" }, sub: "project_path:acme/a:.*" },
      {
        kind: "Kubernetes",
        fill: { "Issuer of the cluster": "https://cluster.test", Namespace: "shop", "Service account": "api" },
        sub: "system:serviceaccount:shop:api",
      },
      {
        kind: "AWS",
        fill: { Account: "123456789012", "Name of the role": "runner", "Id of the role": "AROA1" },
        arn: "arn:aws:sts::123456789012:assumed-role/runner/.*",
      },
      { kind: "Google Cloud", fill: { "Unique id of the service account": "123456789012345678901" }, sub: "123456789012345678901" },
      {
        kind: "Another issuer",
        fill: { Issuer: "https://issuer.test", Subject: "build-.*", "Further claims": "team=a=b" },
        check: "The subject is a pattern",
        sub: "build-.*",
      },
    ];
    for (const [index, { kind, fill, sub, arn, check }] of kinds.entries()) {
      const name = `machine-${index}`;
      await page.goto(screen("/new-identity"));
      await choose(page, kind);
      await page.getByRole("textbox", { name: "Name", exact: true }).fill(name);
      for (const [label, value] of Object.entries(fill)) await page.getByRole("textbox", { name: label, exact: true }).fill(value ?? "");
      if (check !== undefined) await page.getByRole("checkbox", { name: check }).check();
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { name }).waitFor();
      const { relationship } = await identityNamed(name);
      if (relationship.case === "claimMatch") assert.equal(relationship.value.sub.value, sub);
      else assert.equal(relationship.case === "awsIdentity" && relationship.value.awsArn.value, arn);
      if (kind === "Another issuer") assert.deepEqual(relationship.case === "claimMatch" && relationship.value.claims, { team: "a=b" });
    }
  });

  walk("a static key is made in the browser, shown once, and its proof signs the machine in", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/new-identity?kind=key"));
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("old-server");
    await page.getByRole("textbox", { name: "Subject", exact: true }).fill("server-1");
    await assertAccessible(page);
    await page.getByRole("button", { name: "Create" }).click();
    const dialog = page.getByRole("dialog", { name: "Private key of the machine" });
    const pem = (await dialog.getByText(/BEGIN PRIVATE KEY/).innerText()).trim();
    const command = await dialog.getByText(/^node -e/).innerText();
    await assertAccessible(page);
    // The command signs by the clock of this machine, and the server's stands since its start.
    world.clock.moveTo(new Date());
    const proof = await proofOf(command, pem);
    const { uid } = await identityNamed("old-server");
    const exchanged = await fetch(`${world.baseUrl}/sts/exchange`, {
      method: "POST",
      headers: { authorization: `Bearer ${proof}` },
      body: new URLSearchParams({ identity: uid }),
    });
    assert.equal(exchanged.status, 200, await exchanged.text());
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    await page.getByRole("heading", { name: "old-server" }).waitFor();
    assert.equal(await page.getByText("BEGIN PRIVATE KEY").count(), 0);
  });

  walk("an identity is changed with a check of its proof, and leaving the wizard with input asks first", async ({ page, screen }) => {
    const { uid } = await createMachine(world, "editable");
    await signInByLink(page, world);
    await page.goto(screen(`/identity/${uid}`));
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("textbox", { name: "Subject", exact: true }).fill("repo:b");
    await page.getByRole("textbox", { name: "Description" }).fill("builds b");
    await assertAccessible(page);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: "Subject repo:b" }).waitFor();
    await page.getByRole("row", { name: "Description builds b" }).waitFor();
    await page.goto(screen("/new-identity?kind=github"));
    await page.getByLabel("Repository").fill("acme/kept");
    await page.getByRole("link", { name: "Roles" }).click();
    await page.getByRole("button", { name: "Keep editing" }).click();
    assert.equal(await page.getByLabel("Repository").inputValue(), "acme/kept");
    await page.getByRole("link", { name: "Roles" }).click();
    await page.getByRole("button", { name: "Discard it" }).click();
    await page.getByRole("heading", { name: "Roles" }).waitFor();
    await page.goto(screen("/new-identity?kind=person"));
    await page.getByRole("button", { name: "New invite" }).click();
    await page.getByRole("dialog", { name: "New invite" }).waitFor();
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
      await world.must(IdentityProvidersService.method.deleteIdentityProvider, { uid });

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

  walk(
    "an identity provider is set up by discovery, maps a group, provisions by SCIM, and is deleted",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/identity-providers"));
      await page.getByText("People sign in by the sign-in of this server only").waitFor();
      await assertAccessible(page);
      await page.getByRole("button", { name: "New identity provider" }).click();
      await page.getByRole("textbox", { name: "Issuer" }).fill(`${world.upstream.issuer}/`);
      await page.getByRole("button", { name: "Ask the issuer" }).click();
      await page.getByText("The issuer cannot be used").waitFor();
      await page.getByRole("textbox", { name: "Issuer" }).fill(world.upstream.issuer);
      await page.getByRole("button", { name: "Ask the issuer" }).click();
      await page.getByText("The issuer answers").waitFor();
      await page.getByText(`${world.baseUrl}/oauth/callback`).waitFor();
      await assertAccessible(page);
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("alert").waitFor();
      assert.equal(await page.getByRole("textbox", { name: "Name", exact: true }).getAttribute("aria-invalid"), "true");
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("company");
      await page.getByRole("textbox", { name: "Client id" }).fill("holt");
      await page.getByLabel("Client secret").fill("secret-of-the-client");
      await page.getByRole("textbox", { name: "Claim with the groups" }).fill("groups");
      await page.getByRole("combobox", { name: "Role at the first sign-in" }).fill("viewer");
      await page.getByRole("option", { name: "viewer", exact: true }).click();
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("link", { name: "company" }).click();
      await page.getByRole("row", { name: "Claim with the groups groups" }).waitFor();
      await assertAccessible(page);
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByRole("textbox", { name: "Description" }).fill("the company's own");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("row", { name: "Description the company's own" }).waitFor();
      await page.getByRole("tab", { name: "Group mappings" }).click();
      await page.getByRole("button", { name: "Map a group" }).click();
      await page.getByRole("textbox", { name: "Group of the provider" }).fill("admins");
      await page.getByRole("combobox", { name: "Role" }).fill("owner");
      await page.getByRole("option", { name: "owner", exact: true }).click();
      await page.getByRole("button", { name: "Map", exact: true }).click();
      await page.getByRole("row", { name: /admins.*owner/ }).waitFor();
      await assertAccessible(page);
      await page
        .getByRole("row", { name: /admins/ })
        .getByRole("button", { name: "Remove" })
        .click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await page.getByText("No group of the provider gives a role").waitFor();
      await page.getByRole("tab", { name: "SCIM" }).click();
      await page.getByText("Then SCIM can be switched on").waitFor();
      assert.equal(await page.getByRole("button", { name: "Switch on" }).count(), 0);
      await assertAccessible(page);
      await page.getByRole("button", { name: "New token" }).click();
      await page.getByRole("dialog", { name: "SCIM token" }).waitFor();
      await page.getByRole("button", { name: "I have copied it" }).click();
      await page.getByRole("row", { name: "Token live" }).waitFor();
      await page.getByRole("button", { name: "Replace the token" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Replace the token" }).click();
      await page.getByRole("button", { name: "I have copied it" }).click();
      await page.getByRole("row", { name: "Token rotating" }).waitFor();
      await page.getByRole("button", { name: "Revoke the token" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Revoke the token" }).click();
      await page.getByRole("row", { name: "Token revoked" }).waitFor();
      await assertAccessible(page);
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByText("People sign in by the sign-in of this server only").waitFor();
    },
    { expected: [/status of 400/] },
  );

  walk(
    "a cloud account is tied to a group, checked, changed and deleted",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/account-associations"));
      await page.getByText("No group has an account at a cloud provider").waitFor();
      await page.getByRole("button", { name: "New cloud account" }).click();
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("clouds");
      await page.getByRole("textbox", { name: "AWS account" }).fill("12");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("alert").waitFor();
      assert.equal(await page.getByRole("textbox", { name: "AWS account" }).getAttribute("aria-invalid"), "true");
      await assertAccessible(page);
      await page.getByRole("textbox", { name: "AWS account" }).fill("123456789012");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("row", { name: /clouds.*123456789012/ }).waitFor();
      await assertAccessible(page);
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByRole("textbox", { name: "Google project", exact: true }).fill("project-a");
      await page.getByRole("textbox", { name: "Number of the Google project" }).fill("123");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("row", { name: /123456789012.*project-a/ }).waitFor();
      await page.getByRole("button", { name: "Check AWS" }).click();
      await page
        .getByRole("row", { name: /clouds/ })
        .getByRole("status")
        .waitFor();
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByText("No group has an account at a cloud provider").waitFor();
    },
    { expected: [/status of 400/] },
  );

  walk(
    "legal documents are accepted for the organization",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/terms"));
      await page.getByText("No document is accepted.").waitFor();
      await assertAccessible(page);
      await page.goto(screen("/terms?accept=tos-2026,privacy"));
      assert.equal(await page.getByRole("textbox", { name: "Documents" }).inputValue(), "tos-2026,privacy");
      await page.getByRole("textbox", { name: "Documents" }).fill("tos-2026, Not valid");
      await page.getByRole("button", { name: "Accept", exact: true }).click();
      await page.getByText(/^each of document_ids must match/).waitFor();
      await assertAccessible(page);
      await page.getByRole("textbox", { name: "Documents" }).fill("tos-2026, privacy");
      await page.getByRole("button", { name: "Accept", exact: true }).click();
      await page.getByRole("row", { name: /^privacy/ }).waitFor();
      await page.getByRole("row", { name: /^tos-2026/ }).waitFor();
    },
    { expected: [/status of 400/] },
  );
});

/** Runs the command that the console shows, in a folder with the key. */
async function proofOf(command: string, pem: string): Promise<string> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "holt-console-"));
  await writeFile(join(folder.path, "key.pem"), `${pem}\n`);
  return execFileSync("sh", ["-c", command], { cwd: folder.path, encoding: "utf8" }).trim();
}
