/** Measures the console over a large registry: Home, the first page of the image repositories, and scrolling through loaded rows. */
import type { StoreName } from "../data/stores.ts";
import { openRegistry } from "../registry/lists.ts";
import { type Line, median, short } from "../report.ts";
import { scale } from "../scale.ts";
import { serveFilled } from "../servers.ts";
import { type LongestTask, type MeasuredPage, openConsole } from "./browser.ts";

const MAX_USABLE_MS = 1500;
const MAX_FIRST_PAGE_MS = 300;
const MAX_TASK_MS = 100;
/** With ten times the rows, a frame may take this much longer. */
const MAX_GROWTH = 1.5;
const FEW_ROWS = 1000;
const MANY_ROWS = 10_000;
/** Frames of each measurement, and pixels between two of them. */
const FRAMES = 200;
const STEP = 150;

export async function consoleScreens(store: StoreName): Promise<Line[]> {
  const filled = await openRegistry(store);
  await using cleanUp = new AsyncDisposableStack();
  const { server } = cleanUp.use(await serveDisposable(filled));
  const console = await openConsole(filled.target, server);
  if (console === undefined) return [];
  cleanUp.use(console);
  const { organization, repos } = filled.contents;
  const lines: Line[] = [];
  const add = (measured: string, value: number, unit: string, limit: number): void =>
    void lines.push({ measured, store, figure: `${short(value)}${unit}`, target: `≤ ${limit}${unit}`, holds: value <= limit });

  const usable = await repeat(async () => (await console.open(`/${organization}`)).usable);
  add("Home is usable", usable, " ms", MAX_USABLE_MS);
  for (const [title, path, operation] of [
    [`first page of ${repos} repositories after the answer`, "repositories", "ListRepos"],
    ["first page of the tree of groups after the answer", "groups", "ListGroups"],
  ] as const) {
    const drawn = await repeat(async () => {
      const { firstRow, answered } = await console.open(`/${organization}/${path}`);
      return firstRow - (await answered(operation));
    });
    add(title, drawn, " ms", MAX_FIRST_PAGE_MS);
  }

  await console.open(`/${organization}/repositories`);
  await load(console, Math.min(FEW_ROWS, repos));
  const few = await scroll(console);
  await load(console, Math.min(MANY_ROWS, repos));
  const many = await scroll(console);
  add(`longest task while scrolling through ${MANY_ROWS} rows`, many.longest.ms, " ms", MAX_TASK_MS);
  add("the same in CPU time", many.longest.cpuMs, " ms", MAX_TASK_MS);
  add(`CPU time per frame with ${MANY_ROWS} rows, as a multiple of that with ${FEW_ROWS}`, many.cpuMs / few.cpuMs, "", MAX_GROWTH);
  lines.push({ measured: "CPU time of the page per frame while scrolling", store, figure: `${short(many.cpuMs)} ms` });
  return lines;
}

async function serveDisposable(filled: Awaited<ReturnType<typeof openRegistry>>) {
  const served = await serveFilled(filled);
  return { ...served, [Symbol.asyncDispose]: () => served.server[Symbol.asyncDispose]() };
}

/** @returns the median of the rounds */
async function repeat(measure: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let round = 0; round < scale.rounds; round++) values.push(await measure());
  return median(values);
}

/** Scrolls to the end of the list until it has loaded so many rows. */
async function load({ page }: MeasuredPage, rows: number): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const scroller = document.querySelector("section[aria-label]");
    const isLoaded = () => parseInt(document.querySelector("main [role=status]").innerText.replaceAll(",", "")) >= ${rows};
    const step = () => {
      if (isLoaded()) return resolve();
      scroller.scrollTop = scroller.scrollHeight;
      requestAnimationFrame(step);
    };
    step();
  })`);
}

const SCROLL = `new Promise((resolve) => {
  const scroller = document.querySelector("section[aria-label]");
  let frames = 0;
  const step = () => {
    if (frames++ === ${FRAMES}) return resolve();
    scroller.scrollTop += ${STEP};
    requestAnimationFrame(step);
  };
  step();
})`;

interface Scrolled {
  /** Milliseconds per frame. */
  readonly cpuMs: number;
  readonly longest: LongestTask;
}

/** Scrolls through loaded rows from the first one on, and loads none. */
async function scroll({ page, cpuSeconds, longestTask }: MeasuredPage): Promise<Scrolled> {
  await page.evaluate("document.querySelector('section[aria-label]').scrollTop = 0");
  await page.waitForLoadState("networkidle");
  const before = await cpuSeconds();
  const longest = await longestTask(() => page.evaluate(SCROLL));
  return { cpuMs: (((await cpuSeconds()) - before) * 1000) / FRAMES, longest };
}
