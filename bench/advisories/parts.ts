/** The advisory benchmarks, by their names on the command line. */
import type { StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { advisoryLists } from "./lists.ts";
import { publishedAdvisories } from "./published.ts";

export const advisoryParts: Readonly<Record<string, (store: StoreName) => Promise<Line[]>>> = {
  "advisory-lists": advisoryLists,
  "advisory-published": publishedAdvisories,
};
