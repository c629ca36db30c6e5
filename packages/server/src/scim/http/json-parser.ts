/** The reader of request bodies, as a parser. Nearly all bodies are small and read at once. */
import { defineParser } from "../../jobs/parsers.ts";
import { readJson } from "./read-json.ts";

/** The reader is linear, and takes two milliseconds for this size. */
const MAX_AT_ONCE = 64 * 1024;
const CPU_MS = 2000;

export const jsonParser = defineParser<Uint8Array, ReturnType<typeof readJson>>({
  module: new URL("./read-json.ts", import.meta.url),
  name: "readJson",
  pool: "documents",
  cpuMs: () => CPU_MS,
  field: "",
  content: "the body",
  atOnce: { isSmall: (bytes) => bytes.length <= MAX_AT_ONCE, parse: readJson },
});
