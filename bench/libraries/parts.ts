/** The library benchmarks, by their names on the command line. */
import type { StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { libraryDownload } from "./download.ts";
import { libraryLists } from "./lists.ts";
import { libraryPages } from "./pages.ts";

export const libraryParts: Readonly<Record<string, (store: StoreName) => Promise<Line[]>>> = {
  "library-lists": libraryLists,
  "library-pages": libraryPages,
  "library-download": libraryDownload,
};
