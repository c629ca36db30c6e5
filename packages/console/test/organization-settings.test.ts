/** Screens of identity providers, cloud accounts and legal documents, in a real browser, against a real server. */
import assert from "node:assert/strict";
import { assertAccessible, describeConsole, signInByLink } from "./console-world.ts";

await describeConsole("settings of an organization in the console", ({ world, walk }) => {
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
