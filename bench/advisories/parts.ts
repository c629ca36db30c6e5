/** The measurements of advisories, by the names that the command line knows them by. */
import type { StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { advisoryLists } from "./lists.ts";

export const advisoryParts: Readonly<Record<string, (store: StoreName) => Promise<Line[]>>> = {
  "advisory-lists": advisoryLists,
};
