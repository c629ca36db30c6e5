/** Refusals by failed preconditions: the list of what is in the way, and links to the screens that change it. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { ImportKind } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { SignInSettingsService } from "@holt/api/gen/holt/v1/sign_in_settings_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { describeConsole, signInByLink } from "./console-world.ts";

/** Types of violations are in the first argument of failedPrecondition, in limits of groups, and in the policy of sign-ins. */
const TYPES =
  /failedPrecondition\(\s*"([A-Z_]+)"|\breason: "(TOO_[A-Z_]+)"|precondition = \{ type: "([A-Z_]+)"|return "([A-Z]+(?:_[A-Z]+)*_(?:REQUIRED|FORBIDDEN))"/g;

test("the console knows each type of failed precondition that the server sends", () => {
  // Read, not imported: the table is for browsers.
  const table = readFileSync(join(import.meta.dirname, "../src/frame/remedies.ts"), "utf8");
  const known = [...table.matchAll(/^ {2}([A-Z_]+): /gm)].map(([, type = ""]) => type);
  const folder = join(import.meta.dirname, "../../server/src");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /(?<!\.test)\.ts$/.test(file));
  const sent = files.flatMap((file) =>
    [...readFileSync(join(folder, file), "utf8").matchAll(TYPES)].map((match) => match.slice(1).find((type) => type !== undefined) ?? ""),
  );
  assert.deepEqual([...new Set(sent)].sort(), known.sort());
});

await describeConsole("refusals by failed preconditions in the console", ({ world, walk }) => {
  const expected = [/status of 400/];

  async function bindOwner(roleUid: string): Promise<void> {
    const { subject: identityUid } = await world.must(Auth.method.validate, {});
    await world.must(RoleBindingsService.method.createRoleBinding, { parent: world.orgUid, roleBinding: { identityUid, roleUid } });
  }

  walk(
    "a role that is bound is not deleted, and the refusal leads to its bindings",
    async ({ page, screen }) => {
      const role = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
      await bindOwner(role);
      await signInByLink(page, world);
      await page.goto(screen(`/role/${role}`));
      await page.getByRole("button", { name: "Delete" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Delete" }).click();
      const item = dialog.getByRole("alert").getByRole("listitem");
      await item.getByText("cannot delete role while it is bound to an identity").waitFor();
      await item.getByRole("link", { name: "Where the role is bound" }).press("Enter");
      await dialog.waitFor({ state: "detached" });
      await page.getByRole("tab", { name: "Bindings", selected: true }).waitFor();
      await page.getByRole("row", { name: /bootstrap-owner/ }).waitFor();
    },
    { expected },
  );

  walk(
    "a group that is not empty shows each kind of its contents with a link, and the refusal leads into the group",
    async ({ page, screen }) => {
      const { uid } = await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "full" } });
      await world.must(GroupsService.method.createGroup, { parent: uid, group: { name: "inner" } });
      const { roles } = await world.must(RolesService.method.listRoles, { name: "advisories.admin" });
      await bindOwner(roles[0]?.uid ?? "");
      await world.must(SubscriptionsService.method.createSubscription, { parent: uid, subscription: { sink: "https://127.0.0.1:9/hook" } });
      const advisoryMirror = { name: "upstream", kind: ImportKind.ADVISORIES, url: "https://127.0.0.1:1/feed.json" };
      await world.must(AdvisoryMirrorsService.method.createAdvisoryMirror, { parent: uid, advisoryMirror });
      await signInByLink(page, world);
      const open = async () => {
        await page.goto(screen(`/group/${uid}`));
        await page.getByRole("button", { name: "Delete" }).click();
      };
      await open();
      const dialog = page.getByRole("dialog");
      const links = { Webhooks: /127\.0\.0\.1:9/, Mirrors: /upstream/ };
      for (const [kind, row] of Object.entries(links)) {
        await dialog
          .getByRole("listitem")
          .filter({ hasText: `${kind}: 1` })
          .getByRole("link", { name: "in this group" })
          .click();
        await page.getByRole("row", { name: row }).waitFor();
        assert.equal(new URL(page.url()).searchParams.get("group"), uid);
        await open();
      }
      await dialog.getByRole("button", { name: "Delete" }).click();
      await dialog.getByRole("alert").getByRole("link", { name: "The group" }).click();
      await page.getByRole("row", { name: /inner/ }).waitFor();
    },
    { expected },
  );

  walk(
    "the last identity provider of an organization that requires one is not deleted, and the refusal leads to the providers",
    async ({ page }) => {
      const { uid, provider } = world.acme;
      const update = SignInSettingsService.method.updateSignInSettings;
      const settings = (ownProviderRequired: boolean) => ({ signInSettings: { uid, ownProviderRequired } });
      await world.must(update, settings(true));
      await signInByLink(page, world);
      await page.goto(`${world.baseUrl}/console/${uid}/identity-provider/${provider}`);
      await page.getByRole("button", { name: "Delete" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Delete" }).click();
      await dialog.getByRole("alert").getByRole("link", { name: "Identity providers" }).click();
      await page.getByRole("row", { name: /acme sso/ }).waitFor();
      await world.must(update, settings(false));
    },
    { expected },
  );
});
