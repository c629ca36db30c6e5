/** A server with data, and browsers in which a person is signed in to the console. Fails on errors in the pages. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { Browser, Page } from "playwright-core";
import { openSecrets } from "../../server/src/iam/secrets/secrets-key.ts";
import { createSignInLink } from "../../server/src/sign-in/sign-in-link.ts";
import { launchChromium, openBrowser } from "../../server/test/harness/sign-in/chromium.ts";
import { type SignInWorld, type SignInWorldOptions, startSignInWorld } from "../../server/test/harness/sign-in/sign-in-world.ts";
import { PATIENCE_MS, until, within } from "../../server/test/harness/wait.ts";

export interface Visit {
  readonly page: Page;
  /** Address of a screen of the first organization. */
  screen(path: string): string;
}

export interface VisitOptions {
  /** Parts of messages of the browser's console that the test causes on purpose. */
  readonly expected?: readonly RegExp[];
}

export interface ConsoleTests {
  /** Usable in hooks and tests. */
  readonly world: SignInWorld;
  /** Defines a test that visits the console in a fresh browser. */
  walk(title: string, steps: (visit: Visit) => Promise<void>, options?: VisitOptions): void;
}

/** Tests of the console with a server of their own; skipped where Chromium does not start. */
export async function describeConsole(
  title: string,
  define: (tests: ConsoleTests) => void,
  options: Pick<SignInWorldOptions, "host"> = {},
): Promise<void> {
  const chromium = await launchChromium();
  const skip = chromium === undefined ? "Chromium does not start on this machine" : false;
  describe(title, { skip }, () => {
    const world = {} as SignInWorld;
    before(async () => {
      buildConsole();
      Object.assign(world, await startSignInWorld(options));
    });
    after(async () => {
      await chromium?.close();
      await world[Symbol.asyncDispose]();
    });
    define({
      world,
      walk: (name, steps, options) =>
        test(name, async () => {
          assert.ok(chromium);
          await visit(chromium, world, steps, options);
        }),
    });
  });
}

/** A link that signs the bootstrap owner in, by the clock of the server. */
export async function linkOf({ baseUrl, dataDir, store, clock }: SignInWorld): Promise<string> {
  const secrets = await openSecrets({ store, dataDir, key: undefined });
  return store.transaction((db) => createSignInLink(db, baseUrl, clock.now(), secrets));
}

export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Messages of the browser's console. */
  readonly errors: readonly string[];
  /** Fails if the page logged errors, broke the content security policy, or left the server. */
  assertNoErrors(): void;
}

/** Opens a fresh browser that keeps what its page must not do. */
export async function watchPage(browser: Browser, world: SignInWorld, { expected = [] }: VisitOptions = {}): Promise<WatchedPage> {
  const watched = await openBrowser(browser);
  const { page } = watched;
  // Also for further tabs.
  watched.context.setDefaultTimeout(PATIENCE_MS);
  // Dialogs are drawn at once, so that no check sees one in part.
  await page.emulateMedia({ reducedMotion: "reduce" });
  const errors: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) errors.push(`${message.text()} (${message.location().url})`);
  });
  const isKnown = (origin: string) => origin === world.baseUrl || origin === world.upstream.issuer || /^data:|^null$/.test(origin);
  const assertNoErrors = () => {
    assert.deepEqual(watched.violations, []);
    assert.deepEqual(
      errors.filter((error) => !expected.some((pattern) => pattern.test(error))),
      [],
    );
    assert.deepEqual(
      [...watched.origins].filter((origin) => !isKnown(origin)),
      [],
    );
  };
  return { page, errors, assertNoErrors, [Symbol.asyncDispose]: () => watched[Symbol.asyncDispose]() };
}

/** Ends before the time limit of a test, which would not tell what the page shows. */
const STEPS_MS = 280_000;
/** A failed page gets this time to tell what it shows. */
const ANSWER_MS = 10_000;

/** Opens a fresh browser, runs the test, and fails if the pages logged errors, broke the content security policy, or left the server. */
export async function visit(
  browser: Browser,
  world: SignInWorld,
  test: (visit: Visit) => Promise<void>,
  options?: VisitOptions,
): Promise<void> {
  await using watched = await watchPage(browser, world, options);
  const { page } = watched;
  try {
    const steps = test({ page, screen: (path) => `${world.baseUrl}/console/${world.orgUid}${path}` });
    // Playwright waits for ever for a page that does not evaluate an expression.
    await within(steps, () => `the steps take longer than ${STEPS_MS} ms`, STEPS_MS);
  } catch (error) {
    const shown = page.evaluate<string>("document.body.innerText");
    const text = await within(shown, () => "", ANSWER_MS).catch(() => "nothing");
    throw new Error(`${page.url()} shows: ${text}\nErrors of the page: ${watched.errors.join("\n")}`, { cause: error });
  }
  watched.assertNoErrors();
}

export async function signInByLink(page: Page, world: SignInWorld): Promise<void> {
  await page.goto(await linkOf(world));
  await page
    .getByRole("navigation", { name: "Screens" })
    .or(page.getByRole("heading", { name: "Your organizations" }))
    .waitFor();
}

/** Ends the session of the browser on the server, without telling its pages. */
export async function endSession(page: Page, world: SignInWorld): Promise<void> {
  const [cookie] = await page.context().cookies(`${world.baseUrl}/oauth/session`);
  const headers = { cookie: `${cookie?.name}=${cookie?.value}`, origin: world.baseUrl, "x-holt-console": "1" };
  const response = await fetch(`${world.baseUrl}/oauth/session/end`, { method: "POST", headers, body: new URLSearchParams() });
  assert.equal(response.status, 200);
}

/** Creates an identity of the organization for tokens of the issuer `https://ci.test`. */
export function createMachine(world: SignInWorld, name: string, subject = name) {
  const claimMatch = { iss: { case: "issuer", value: "https://ci.test" }, sub: { case: "subject", value: subject } } as const;
  const identity = { name, relationship: { case: "claimMatch", value: claimMatch } } as const;
  return world.must(IdentitiesService.method.createIdentity, { parent: world.orgUid, identity });
}

/** Signs a person in at the provider of the organization `acme.test`. */
export async function signInAtProvider(page: Page, world: SignInWorld, account: string): Promise<void> {
  await page.goto(`${world.baseUrl}/console/${world.acme.uid}`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Your organization").fill("acme.test");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("Account").fill(account);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "acme.test" }).waitFor();
}

const folder = join(import.meta.dirname, "..");

/** Builds the console if a source is newer than the build, so that the tests see what is there. */
export function buildConsole(): void {
  const index = join(folder, "dist/index.html");
  const built = existsSync(index) ? statSync(index).mtimeMs : 0;
  const sources = readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" });
  if (sources.some((file) => statSync(join(folder, "src", file)).mtimeMs > built))
    execFileSync(process.execPath, [join(folder, "build.js")]);
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The console draws itself in other colors after the browser has told it, and only then are they to be checked. */
function isDrawnIn(colorScheme: "light" | "dark"): string {
  return `["${colorScheme}", undefined].includes(document.documentElement.dataset.mantineColorScheme)`;
}

export interface AxeScope {
  /** Selector of the part of the page to check; all of it by default. */
  readonly within?: string | undefined;
  /** Selectors of parts to leave out. */
  readonly without?: readonly string[] | undefined;
  /** All rules by default. */
  readonly rules?: readonly string[] | undefined;
}

/** Asserts that axe-core finds nothing, in the colors and at the width that the page has. */
export async function assertNoFindings(page: Page, { within, without = [], rules }: AxeScope = {}): Promise<void> {
  // As a function of the debugger: the content security policy admits no other script.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
  const scope = JSON.stringify({ ...(within !== undefined && { include: [[within]] }), exclude: without.map((selector) => [selector]) });
  const options = { resultTypes: ["violations"], ...(rules === undefined ? {} : { runOnly: rules }) };
  const found = await page.evaluate<{ id: string; nodes: { html: string; failureSummary: string }[] }[]>(
    `axe.run(${scope}, ${JSON.stringify(options)}).then((result) => result.violations)`,
  );
  const problems = found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`));
  const state = await page.evaluate<string>("innerWidth + ' px, ' + document.documentElement.dataset.mantineColorScheme");
  assert.deepEqual(problems, [], `${page.url()}, ${state}`);
}

/** Changes the colors, and waits until the console has drawn itself in them. */
export async function drawIn(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await until(() => page.evaluate<boolean>(isDrawnIn(colorScheme)));
}

/** Runs the check on a page as wide as a phone; fails if the page is wider. */
export async function assertFitsPhone(page: Page, check?: () => Promise<void>): Promise<void> {
  await page.setViewportSize({ width: 360, height: 740 });
  // A tooltip moves only after the page has its new width.
  await until(async () => (await page.evaluate<number>("document.documentElement.scrollWidth")) <= 360);
  await check?.();
  await page.setViewportSize({ width: 1280, height: 720 });
}

/** Asserts that axe-core finds nothing on the screen, light and dark, and that it fits a phone. */
export async function assertAccessible(page: Page): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await drawIn(page, colorScheme);
    await assertNoFindings(page);
  }
  await assertFitsPhone(page);
}
