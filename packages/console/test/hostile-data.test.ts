/** Descriptions, readmes, notes, names, events, and the content of images with markup, on every screen that shows them. */
import assert from "node:assert/strict";
import { AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { DeliveriesService, Delivery_State } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
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
import { APK, layerOf } from "../../server/test/harness/registry/image-content.ts";
import { basic, CONFIG, createRegistryClient, MANIFEST } from "../../server/test/harness/registry/registry-client.ts";
import { until } from "../../server/test/harness/wait.ts";
import { startWebhookReceiver } from "../../server/test/harness/webhook-receiver.ts";
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
/** Tags have letters, digits and three signs only, and at most as many. */
const LONG_TAG = `v-${"x".repeat(126)}`;
/** The server refuses readmes with unsafe HTML, but not code that shows it. */
const README = `# \u202Eright to left\u200B\n\n\`${MARKUP}\`\n\n\`\`\`html\n${TEXT}\n\`\`\`\n\n&lt;script&gt;reportViolation('ran')&lt;/script&gt;\n`;
const SHOWING = ["home", "groups", "group", "repositories", "repository", "advisories", "advisory", "imports", "import"].concat([
  "identities",
  "identity",
  "identity-provider",
  "role",
  "image",
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

  walk("markup in events, and in the requests and responses of deliveries, is shown as text", async ({ page }) => {
    await using sink = await startWebhookReceiver();
    sink.behave((response) => void response.writeHead(200, { "x-note": MARKUP, "content-type": "text/html" }).end(TEXT));
    const { uid: parent } = await world.must(GroupsService.method.createGroup, { group: { name: "events" } });
    const subscription = { sink: sink.url };
    const { uid } = await world.must(SubscriptionsService.method.createSubscription, { parent, subscription });
    await world.must(GroupsService.method.createGroup, { parent, group: { name: "below", description: TEXT } });
    const deliveries = async () => (await world.must(DeliveriesService.method.listDeliveries, { uid })).deliveries;
    const isCreation = ({ eventType }: { eventType: string }) => eventType.includes("group.created");
    await until(async () => (await deliveries()).some((each) => isCreation(each) && each.state === Delivery_State.DELIVERED));
    const eventId = (await deliveries()).find(isCreation)?.eventId ?? "";

    const requests = countRequests(page);
    await signInByLink(page, world);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(`${world.baseUrl}/console/${parent}/subscription/${uid}?delivery=${eventId}`);
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`"description": ${JSON.stringify(TEXT)}`).waitFor();
    await dialog.getByText(`x-note: ${MARKUP}`).waitFor();
    const [, response = ""] = await dialog.locator("pre").allTextContents();
    // The first 4 KiB are kept.
    assert.ok(response.includes(TEXT.slice(0, 4000)), response);
    await settled(page, requests);
    assert.ok(await showsText(page));

    await page.goto(`${world.baseUrl}/console/${parent}/events`);
    await page
      .getByRole("row", { name: /group\.created/ })
      .filter({ hasText: `${parent}/` })
      .getByRole("button")
      .first()
      .press("Enter");
    await dialog.getByText(`"description": ${JSON.stringify(TEXT)}`).waitFor();
    await settled(page, requests);
    assert.ok(await showsText(page));
  });

  /** Pushes an image whose platform, packages, labels, history and annotations are hostile, and an artifact that is attached to it. */
  async function pushHostileImage(repo: string): Promise<void> {
    using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
    const installed = `C:Q1abc=\nP:${LINE}\nV:1.0-r0\nA:x86_64\nT:${TEXT}\no:${LINE}\n\n`;
    const layer = await client.blob(repo, await layerOf({ [APK]: installed }, "plain"));
    const history = [{ created_by: TEXT, comment: MARKUP }];
    const labels = { [LINE]: TEXT, "org.opencontainers.image.title": TEXT };
    const content = { architecture: LINE, os: LINE, author: MARKUP, config: { Labels: labels }, history };
    const config = await client.blob(repo, JSON.stringify(content), CONFIG);
    const annotations = { ...labels, "org.opencontainers.image.description": TEXT };
    const image = { schemaVersion: 2, mediaType: MANIFEST, config, layers: [{ ...layer, annotations }], annotations };
    const subject = await client.manifest(repo, image, LONG_TAG);
    const empty = await client.blob(repo, "{}", CONFIG);
    const artifact = { schemaVersion: 2, mediaType: MANIFEST, artifactType: "application/x.sbom", config: empty, layers: [] };
    await client.manifest(repo, { ...artifact, subject, annotations });
  }

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
    await pushHostileImage(uid);
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
