/** The measurements of libraries, by the names that the command line knows them by. */
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
