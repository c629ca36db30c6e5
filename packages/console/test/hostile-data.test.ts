/** Descriptions, readmes, notes and names with markup, on every screen that shows them. */
import assert from "node:assert/strict";
import { AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { ImportKind, ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { PullToken_Right, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { SavedFiltersService } from "@holt/api/gen/holt/v1/saved_filters_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { AccountAssociationsService } from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Advisories } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { Page } from "playwright-core";
import { until } from "../../server/test/harness/wait.ts";
import { describeConsole, signInByLink } from "./console-world.ts";
import { addressesOf, countRequests, settled } from "./screen-walk.ts";

/** Any that runs reports a violation, which fails the test. */
const MARKUP = `<img src=x onerror="reportViolation('ran')"><script>reportViolation('ran')</script><a href="javascript:reportViolation('ran')">x</a>`;
const HOSTILE = `${MARKUP} \u202Eright to left\u200B\u2066 `;
/** As long as descriptions may be. */
const TEXT = `${HOSTILE}${"x".repeat(4096 - HOSTILE.length)}`;
/** As long as descriptions of repositories may be. */
const SHORTER = `${HOSTILE}${"x".repeat(512 - HOSTILE.length)}`;
/** For texts of one line. */
const LINE = `<img src=x onerror="reportViolation('ran')">\u202Eevil\u200B`;
/** The server refuses readmes with unsafe HTML, but not code that shows it. */
const README = `# \u202Eright to left\u200B\n\n\`${MARKUP}\`\n\n\`\`\`html\n${TEXT}\n\`\`\`\n\n&lt;script&gt;reportViolation('ran')&lt;/script&gt;\n`;
const SHOWING = ["home", "groups", "group", "repositories", "repository", "advisories", "advisory", "imports", "import"].concat([
  "identities",
  "identity",
  "identity-provider",
  "role",
]);

await describeConsole("the console with hostile data", ({ world, walk }) => {
  walk("markup in descriptions, readmes, notes and names is shown as text on every screen", async ({ page }) => {
    const { parent, role } = await fill();
    const requests = countRequests(page);
    await signInByLink(page, world);
    // The long texts must not be wider than a phone.
    await page.setViewportSize({ width: 360, height: 740 });
    const shown = new Set<string>();
    const onState = async () => {
      if (await showsText(page)) shown.add(new URL(page.url()).pathname.split("/")[3] ?? "home");
    };
    const start = `${world.baseUrl}/console/${parent}`;
    await addressesOf({ page, start, requests, onState });
    // The list of roles begins with the built-in ones.
    await page.goto(`${start}/role/${role}?tab=details`);
    await settled(page, requests);
    await onState();
    assert.deepEqual(
      SHOWING.filter((screen) => !shown.has(screen)),
      [],
      `there is hostile text on ${[...shown].join(", ")}`,
    );
  });

  async function fill(): Promise<{ parent: string; role: string }> {
    const { uid: parent } = await world.must(GroupsService.method.createGroup, { group: { name: "hostile", description: TEXT } });
    const { roles } = await world.must(RolesService.method.listRoles, { name: "advisories.admin" });
    const { subject: identityUid } = await world.must(Auth.method.validate, {});
    const roleBinding = { identityUid, roleUid: roles[0]?.uid ?? "" };
    await world.must(RoleBindingsService.method.createRoleBinding, { parent, roleBinding });
    const subscription = { sink: "https://127.0.0.1:9/%3Cscript%3E" };
    await world.must(SubscriptionsService.method.createSubscription, { parent, subscription });
    await world.must(GroupsService.method.createGroup, { parent, group: { name: "below", description: TEXT } });
    const { uid } = await world.must(ReposService.method.createRepo, { parent, repo: { name: "app", description: SHORTER } });
    await world.must(ReposService.method.updateRepoReadme, { repoReadme: { uid, content: README } });
    const claimMatch = { iss: { case: "issuer", value: "https://ci.test" }, sub: { case: "subject", value: LINE } } as const;
    const identity = { name: "ci", description: TEXT, relationship: { case: "claimMatch", value: claimMatch } } as const;
    await world.must(IdentitiesService.method.createIdentity, { parent, identity });
    const role = { name: "evil", description: TEXT, capabilities: [Capability.CAP_IAM_GROUPS_LIST] };
    const { uid: defaultRole } = await world.must(RolesService.method.createRole, { parent, role });
    const oidc = { issuer: "https://sso.acme.test", clientId: MARKUP, clientSecret: "a secret", additionalScopes: ["email"] };
    const identityProvider = { name: "sso", description: TEXT, defaultRole, configuration: { case: "oidc", value: oidc } } as const;
    await world.must(IdentityProvidersService.method.createIdentityProvider, { parent, identityProvider });
    const pullToken = { name: "pull", description: TEXT, rights: [PullToken_Right.IMAGES_PULL], ttl: { seconds: 86_400n } };
    await world.must(PullTokensService.method.createPullToken, { parent, pullToken });
    await world.must(ImportsService.method.createImport, { parent, kind: ImportKind.ADVISORIES, fileName: LINE });
    const advisoryMirror = { name: "mirror", kind: ImportKind.ADVISORIES, url: "https://127.0.0.1:1/%3Cscript%3E" };
    await world.must(AdvisoryMirrorsService.method.createAdvisoryMirror, { parent, advisoryMirror });
    const accountAssociation = { name: "clouds", description: TEXT, amazon: { account: "123456789012" } };
    await world.must(AccountAssociationsService.method.createAccountAssociation, { parent, accountAssociation });
    const savedFilter = { name: LINE, query: "state=1" };
    await world.must(SavedFiltersService.method.saveFilter, { uid: parent, list: "advisories", savedFilter });
    const note = { type: { case: "truePositiveDetermination", value: { note: TEXT } } } as const;
    const advisory = { artifactName: LINE, artifactType: "apk", aliases: ["CVE-2026-0001"], events: [note] };
    await world.must(Advisories.method.create, { parentId: parent, advisory });
    return { parent, role: defaultRole };
  }
});

/** Asserts that no text became an element or is wider than the page. @returns whether the page shows hostile text */
async function showsText(page: Page): Promise<boolean> {
  const elements = page.locator("img[src='x'], [onerror], main script, [role=dialog] script, a[href^='javascript:']");
  assert.equal(await elements.count(), 0, page.url());
  await until(async () => (await page.evaluate<number>("document.documentElement.scrollWidth")) <= 360);
  const text = await page.locator("main, [role=dialog]").allTextContents();
  return text.some((each) => each.includes("<img src=x"));
}
