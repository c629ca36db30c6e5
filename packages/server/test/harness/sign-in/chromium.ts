/** A real Chromium without a window, with eyes on what pages must not do. */
import chromium from "@sparticuz/chromium";
import { type Browser, type BrowserContext, type Page, chromium as playwright } from "playwright-core";

export interface Watched extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the pages asked of the content security policy and did not get, and what went wrong in them. */
  readonly violations: readonly string[];
  /** Origins of all requests so far. */
  readonly origins: ReadonlySet<string>;
}

/**
 * The package's own arguments turn off what is looked at here (`--disable-web-security`), and with all of Chromium in one process
 * (`--single-process`) it ends with the first person's browser.
 */
const ARGUMENTS = chromium.args.filter(
  (argument) => !/web-security|insecure-content|site-isolation|single-process|zygote|IsolateOrigins/.test(argument),
);

/** Undefined, after saying why, on a machine where it cannot start. */
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

/** Somebody's browser, without cookies at first. */
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
