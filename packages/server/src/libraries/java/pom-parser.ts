/** The reader of POMs, as a parser. */
import { defineParser } from "../../jobs/parsers.ts";
import { type Pom, type PomFile, readPom } from "./read-pom.ts";

/** Most POMs are smaller, and XML of this size takes two milliseconds at the most, because the reader is linear. */
const MAX_AT_ONCE = 16 * 1024;
/** A POM of the maximum size takes a tenth of it. */
const CPU_MS = 2000;

export const pomParser = defineParser<PomFile, Pom>({
  module: new URL("./read-pom.ts", import.meta.url),
  name: "readPom",
  pool: "documents",
  cpuMs: () => CPU_MS,
  field: "pom",
  content: "the POM",
  atOnce: { isSmall: ({ bytes }) => bytes.length <= MAX_AT_ONCE, parse: readPom },
});
