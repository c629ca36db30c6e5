// The pictures of docs/console.md: how to get to each screen of the demonstration organization, by the first part of its
// address in packages/console/src/app/screens.ts.

import { setTimeout } from "node:timers/promises";

/**
 * @typedef {object} Tour
 * @property {import("playwright-core").Page} page
 * @property {(path: string) => Promise<unknown>} open opens an address below that of the organization
 * @property {(path: string, name: string | RegExp) => Promise<void>} follow opens an address, and a link on it
 */

/** @type {Record<string, (tour: Tour) => Promise<unknown>>} */
export const pictures = {
  home: async ({ page, open }) => {
    await open("");
    await page.getByText("created").first().waitFor();
  },
  groups: async ({ page, open }) => {
    await open("/groups");
    await page.getByRole("treeitem").getByText("web-shop").waitFor();
  },
  group: async ({ page, follow }) => {
    await follow("/groups", "payments");
    await page.getByRole("tab", { name: "Access" }).click();
  },
  repositories: ({ open }) => open("/repositories"),
  repository: ({ follow }) => follow("/repositories", "storefront"),
  tag: async ({ page, follow }) => {
    await follow("/repositories", "storefront");
    await page.getByRole("link", { name: "1.0", exact: true }).click();
  },
  image: async ({ page, follow }) => {
    await follow("/repositories", "storefront");
    await page.getByRole("link", { name: "Contents of 1.0" }).click();
    await page.getByRole("tab", { name: "Vulnerabilities" }).click();
    await page
      .getByRole("row", { name: /openssl/ })
      .first()
      .waitFor();
  },
  libraries: ({ open }) => open("/libraries"),
  library: async ({ page, follow }) => {
    await follow("/libraries", "ledger-client");
    await page.getByRole("row", { name: /loses bookings/ }).waitFor();
  },
  advisories: ({ open }) => open("/advisories"),
  advisory: (tour) => openAdvisory(tour),
  review: async (tour) => {
    await openAdvisory(tour);
    await tour.page.getByRole("button", { name: "Approve" }).click();
    await tour.page.getByRole("dialog").getByText("fixed").first().waitFor();
  },
  imports: ({ open }) => open("/imports"),
  import: async ({ page, open }) => {
    await open("/imports");
    await page.getByRole("main").getByRole("link", { name: "upstream.jsonl" }).click();
    await page.getByRole("tab", { name: /Problems/ }).click();
    await page.getByRole("row", { name: /line 3/ }).waitFor();
  },
  mirrors: ({ open }) => open("/mirrors"),
  resolved: async ({ page, open, follow }) => {
    await follow("/repositories", "storefront");
    await page.getByRole("heading", { name: "storefront" }).waitFor();
    const repository = new URL(page.url()).pathname.split("/repository/")[1];
    await open("/resolved");
    await page.getByLabel("Image repository").fill(repository ?? "");
    await page.getByText("Name an image repository").waitFor({ state: "detached" });
  },
  identities: ({ open }) => open("/identities"),
  "new-identity": async ({ page, open }) => {
    await open("/new-identity?kind=gitlab");
    await page.getByLabel("Project").fill("acme/shop");
    await page.evaluate("scrollTo(0, 0)");
  },
  identity: ({ follow }) => follow("/identities", "gitlab-ci"),
  "pull-tokens": ({ open }) => open("/pull-tokens"),
  invites: ({ open }) => open("/invites"),
  "identity-providers": ({ open }) => open("/identity-providers"),
  "identity-provider": ({ follow }) => follow("/identity-providers", "sso"),
  "account-associations": ({ open }) => open("/account-associations"),
  roles: ({ open }) => open("/roles"),
  role: ({ follow }) => follow("/roles", "editor"),
  explain: async ({ page, follow }) => {
    await follow("/identities", "gitlab-ci");
    await page.getByRole("tab", { name: "Roles" }).click();
    await page.getByRole("link", { name: "Why may it do something" }).click();
    await page.waitForURL(/\/explain/);
    const identity = new URL(page.url()).searchParams.get("identity") ?? "";
    await page.getByLabel("Where").fill(identity.slice(0, identity.lastIndexOf("/")));
    await page.getByRole("combobox", { name: "Capability" }).fill("repo.list");
    await page.getByRole("option", { name: "repo.list" }).first().click();
    await page.getByText("Allowed", { exact: true }).waitFor();
  },
  terms: ({ open }) => open("/terms"),
  sessions: ({ open }) => open("/sessions"),
  events: async ({ page, open }) => {
    await open("/events");
    await page.getByText("created").first().waitFor();
  },
  subscriptions: ({ open }) => open("/subscriptions"),
  subscription: async ({ page, open }) => {
    await open("/subscriptions");
    await page.getByRole("row", { name: /hooks/ }).getByRole("link").first().click();
    await page
      .getByRole("row", { name: /created/ })
      .first()
      .waitFor();
  },
};

/** @param {Tour} tour */
async function openAdvisory({ page, open }) {
  await open("/advisories");
  await page
    .getByRole("row", { name: /zlib.*1 event/ })
    .getByRole("link")
    .click();
  await page.getByRole("button", { name: "Approve" }).waitFor();
}

/**
 * Creates what the demonstration organization does not have.
 * @param {ReturnType<typeof import("./demo/api.js").createApi>} api
 * @param {string} organization
 */
export async function fillTheRest(api, organization) {
  const oidc = { issuer: "https://sso.acme.example", clientId: "holt", clientSecret: "a secret", additionalScopes: ["email"] };
  const provider = { name: "sso", description: "The sign-in of the company", defaultRole: await api.role("viewer"), oidc };
  await api.post(`/iam/v2/identityProviders/${organization}`, provider);
  await api.post(`/iam/v2/accountAssociations/${organization}`, { name: "clouds", amazon: { account: "123456789012" } });
  await importFeed(api, organization);
}

/** Imports a file with a line that cannot be read, and waits for the end. */
async function importFeed(api, organization) {
  const affected = (name) => [{ package: { ecosystem: "Wolfi", name }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }] }] }];
  const records = ["curl", "busybox"].map((name, index) => {
    return JSON.stringify({ id: `GO-2026-000${index + 1}`, modified: "2026-01-02T00:00:00Z", affected: affected(name) });
  });
  const bytes = Buffer.from([...records, "{ this line is cut"].join("\n"));
  const { uid } = await api.post(`/holt/v1/imports/${organization}`, { kind: "IMPORT_KIND_ADVISORIES", fileName: "upstream.jsonl" });
  await api.post(`/holt/v1/imports/${uid}:write`, { offset: 0, data: bytes.toString("base64") });
  await api.post(`/holt/v1/imports/${uid}:start`, { size: bytes.length });
  while ((await api.get(`/holt/v1/imports/${uid}`)).state !== "STATE_DONE") await setTimeout(200);
}
