/** People with accounts of this server in the console, with passkeys of Chromium's virtual authenticator. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { inviteTo } from "../../server/test/harness/sign-in/account-visitor.ts";
import { addAuthenticator } from "../../server/test/harness/sign-in/authenticator.ts";
import { describeConsole } from "./console-world.ts";

await describeConsole(
  "accounts of this server in the console",
  ({ world, walk }) => {
    const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
    const waitForHeading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();

    walk(
      "an invited person creates an account with a passkey, signs in to the console where the person was, and manages the account",
      async ({ page, screen }) => {
        await addAuthenticator(page);
        await page.goto(world.oauth({ invite: await inviteTo(world) }));
        await press(page, "Create an account");
        await page.getByLabel("Your name").fill("Ada");
        await press(page, "Create a passkey");
        await press(page, "I have kept them");
        await waitForHeading(page, "You are signed in");
        await page.getByRole("link", { name: "Open Holt" }).click();
        await waitForHeading(page, "Sign in to Holt");

        await page.goto(screen("/sessions"));
        await press(page, "Sign in");
        await press(page, "Sign in with a passkey");
        await waitForHeading(page, "Sessions");
        assert.equal(page.url(), screen("/sessions"));

        await page.getByRole("button", { name: "Ada: you and this browser" }).click();
        await page.getByRole("menuitem", { name: "Your account" }).click();
        await press(page, "Sign in with a passkey");
        await page.getByRole("heading", { name: "Passkeys" }).waitFor();
        await page.getByRole("link", { name: "Open Holt" }).click();
        await page.getByRole("navigation", { name: "Screens" }).waitFor();
      },
    );
  },
  { host: "localhost" },
);
