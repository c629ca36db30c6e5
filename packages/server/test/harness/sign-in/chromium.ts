/** Starts a headless Chromium that records what pages must not do. */
import chromium from "@sparticuz/chromium";
import { type Browser, type BrowserContext, type Page, chromium as playwright } from "playwright-core";

export interface Watched extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Violations of the content security policy, and errors in the pages. */
  readonly violations: readonly string[];
  /** Origins of all requests so far. */
  readonly origins: ReadonlySet<string>;
}

/**
 * Without some of the package's arguments: `--disable-web-security` and others turn off what the tests check, and with
 * `--single-process` Chromium exits with the first browser context.
 */
const WEAKENING = /web-security|insecure-content|site-isolation|single-process|zygote|IsolateOrigins/;
/** Graphics by OpenGL in software, which takes half of the CPU time of a walk through the console. Pages look the same without. */
const GRAPHICS = /gpu|angle|swiftshader|use-gl/;
const ARGUMENTS = [...chromium.args.filter((argument) => !WEAKENING.test(argument) && !GRAPHICS.test(argument)), "--disable-gpu"];

/** @returns undefined if Chromium cannot start on this machine; the reason is printed */
export async function launchChromium(): Promise<Browser | undefined> {
  try {
    return await playwright.launch({ executablePath: await chromium.executablePath(), args: ARGUMENTS });
  } catch (error) {
    console.error(
      `The tests with a real browser are skipped: Chromium does not start on this machine (${(error as Error).message.split("\n", 1)[0]}).`,
    );
    return undefined;
  }
}

/** Opens a browser without cookies. */
export async function openBrowser(browser: Browser): Promise<Watched> {
  const context = await browser.newContext();
  const violations: string[] = [];
  const origins = new Set<string>();
  await context.exposeFunction("reportViolation", (text: string) => void violations.push(text));
  const report = '(event) => reportViolation(event.violatedDirective + ": " + event.blockedURI)';
  await context.addInitScript(`document.addEventListener("securitypolicyviolation", ${report})`);
  const page = await context.newPage();
  page.on("console", (message) => {
    if (/content security policy|refused to/i.test(message.text())) violations.push(message.text());
  });
  page.on("pageerror", (error) => violations.push(String(error)));
  page.on("request", (request) => origins.add(new URL(request.url()).origin));
  return { context, page, violations, origins, [Symbol.asyncDispose]: () => context.close() };
}
