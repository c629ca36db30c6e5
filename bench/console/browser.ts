/** A browser that measures the console: when it is usable, when its rows are drawn, long tasks, and the CPU time of its thread. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { CDPSession, Page } from "playwright-core";
import { launchChromium } from "../../packages/server/test/harness/sign-in/chromium.ts";
import { until } from "../../packages/server/test/harness/wait.ts";
import type { Target } from "../data/fill.ts";
import type { HoltServer } from "../process.ts";

const HOLTD = join(import.meta.dirname, "../../packages/server/bin/holtd.js");

/** Times in milliseconds since the page began to load. */
export interface PageTimes {
  /** The screen has its title, and loads nothing more. */
  readonly usable: number;
  /** The first row is drawn. */
  readonly firstRow: number;
  /** The last answer of this operation before the first row was complete. */
  answered(operation: string): Promise<number>;
}

export interface LongestTask {
  readonly ms: number;
  /** Independent of other load. */
  readonly cpuMs: number;
}

export interface MeasuredPage extends AsyncDisposable {
  readonly page: Page;
  /** Opens a path below `/console`, in a fresh document. */
  open(path: string): Promise<PageTimes>;
  /** CPU seconds of the page's thread so far. */
  cpuSeconds(): Promise<number>;
  /** Runs the steps. @returns the longest task of the page's thread meanwhile, in milliseconds of time and of CPU time */
  longestTask(steps: () => Promise<unknown>): Promise<LongestTask>;
}

/** Runs before each document: a MutationObserver keeps the times. */
const WATCH = `
  globalThis.times = {};
  const isUsable = () => document.querySelector("main h1, [role=main] h1") !== null && document.querySelector("[aria-label=Loading]") === null;
  // After the browser has painted.
  const painted = (set) => requestAnimationFrame(() => setTimeout(() => set(performance.now())));
  new MutationObserver(() => {
    if (!isUsable()) times.usable = undefined;
    else if (times.usable === undefined) painted((now) => { times.usable ??= now; });
    if (times.firstRow === undefined && document.querySelector("[data-index] a") !== null) painted((now) => { times.firstRow ??= now; });
  }).observe(document, { subtree: true, childList: true });
`;

/** @returns undefined if Chromium does not start on this machine */
export async function openConsole({ url, dataDir }: Target, { port }: HoltServer): Promise<MeasuredPage | undefined> {
  await using cleanUp = new AsyncDisposableStack();
  const chromium = await launchChromium();
  if (chromium === undefined) return undefined;
  cleanUp.defer(() => chromium.close());
  const context = await chromium.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  await context.addInitScript(WATCH);
  const page = await context.newPage();
  page.setDefaultTimeout(300_000);
  const devtools = await context.newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const env = { PATH: process.env.PATH ?? "", HOLT_LISTEN: `127.0.0.1:${port}`, HOLT_DATA_DIR: dataDir, HOLT_DATABASE_URL: url };
  const { stdout } = await promisify(execFile)(process.execPath, [HOLTD, "token", "--link"], { env });
  await page.goto(/http\S+/.exec(stdout)?.[0] ?? "");
  await page.getByRole("main").getByRole("heading").first().waitFor();
  const owned = cleanUp.move();
  return {
    page,
    async open(path) {
      await page.goto(`http://127.0.0.1:${port}/console${path}`);
      await until(() => page.evaluate<boolean>("times.usable !== undefined"));
      await page.waitForLoadState("networkidle");
      const { usable = 0, firstRow = 0 } = await page.evaluate<{ usable?: number; firstRow?: number }>("times");
      const answered = (operation: string) =>
        page.evaluate<number>(`Math.max(...performance.getEntriesByType("resource")
          .filter(({ name, responseEnd }) => name.endsWith("/${operation}") && responseEnd <= ${firstRow})
          .map(({ responseEnd }) => responseEnd))`);
      return { usable, firstRow, answered };
    },
    cpuSeconds: () => cpuSecondsOf(devtools),
    async longestTask(steps) {
      await chromium.startTracing(page, { categories: ["toplevel"] });
      await steps();
      return longestTaskOf(await chromium.stopTracing());
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds, and those of CPU time. */
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

function longestTaskOf(trace: Buffer): LongestTask {
  const { traceEvents: events } = JSON.parse(trace.toString()) as { traceEvents: readonly TraceEvent[] };
  const threads = events.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  const isOfPage = ({ pid, tid }: TraceEvent) => threads.some((thread) => thread.pid === pid && thread.tid === tid);
  const tasks = events.filter((event) => /RunTask$/.test(event.name) && isOfPage(event));
  if (tasks.length === 0) throw new Error("the trace has no task of the page");
  const longest = (of: (event: TraceEvent) => number | undefined) => tasks.reduce((most, task) => Math.max(most, of(task) ?? 0), 0) / 1000;
  return { ms: longest(({ dur }) => dur), cpuMs: longest(({ tdur }) => tdur) };
}

async function cpuSecondsOf(devtools: CDPSession): Promise<number> {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
}
