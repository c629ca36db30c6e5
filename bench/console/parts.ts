/** The benchmark of the web console, by its name on the command line. */
import type { StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { consoleScreens } from "./screens.ts";

export const consoleParts: Readonly<Record<string, (store: StoreName) => Promise<Line[]>>> = {
  console: consoleScreens,
};
