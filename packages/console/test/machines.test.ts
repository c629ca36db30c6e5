/** Screens of machines and their proofs, in a real browser, against a real server. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { Page } from "playwright-core";
import { startIssuer } from "../../server/test/harness/oidc-issuer.ts";
import { assertAccessible, createMachine, describeConsole, signInByLink } from "./console-world.ts";

await describeConsole("machines in the console", ({ world, walk }) => {
  const identityNamed = async (name: string) => {
    const { identities } = await world.must(IdentitiesService.method.listIdentities, { uidp: { childrenOf: world.orgUid }, name });
    assert.equal(identities.length, 1, name);
    return identities[0]!;
  };

  /** The choice is part of the address, so the button is checked only after the address has changed. */
  async function choose(page: Page, kind: string): Promise<void> {
    const radio = page.getByRole("radio", { name: kind, exact: true });
    await radio.click();
    await radio.and(page.locator(":checked")).waitFor();
  }

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

  walk("a machine's identity shows its proof and its roles, and is deleted", async ({ page, screen }) => {
    await createMachine(world, "ci", "repo:a");
    await signInByLink(page, world);
    await page.goto(screen("/identities"));
    await page.getByRole("row", { name: /ci.*https:\/\/ci\.test · repo:a/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: "ci", exact: true }).click();
    await page.getByRole("row", { name: "Subject repo:a" }).waitFor();
    await assertAccessible(page);
    await page.getByRole("tab", { name: "Roles" }).click();
    await page.getByText("No role is bound to this identity").waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Identities" }).waitFor();
    await page.getByRole("link", { name: "ci", exact: true }).waitFor({ state: "detached" });
  });
});

/** Runs the command that the console shows, in a folder with the key. */
async function proofOf(command: string, pem: string): Promise<string> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "holt-console-"));
  await writeFile(join(folder.path, "key.pem"), `${pem}\n`);
  return execFileSync("sh", ["-c", command], { cwd: folder.path, encoding: "utf8" }).trim();
}
