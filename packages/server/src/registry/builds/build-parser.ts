/** The reader of provenance, as a parser. */
import { defineParser } from "../../jobs/parsers.ts";
import type { AttestedFiles, FoundBuild } from "./read-builds.ts";

/** Enough for all documents of a manifest at their maximum size. */
const CPU_MS = 8000;

export const buildParser = defineParser<AttestedFiles, FoundBuild[]>({
  module: new URL("./read-builds.ts", import.meta.url),
  name: "readBuilds",
  pool: "documents",
  cpuMs: () => CPU_MS,
  field: "digest",
  content: "the provenance",
});
