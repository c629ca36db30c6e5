/** The check of readmes, as a parser that runs on a thread: both Markdown and HTML have inputs that take long. */
import { defineParser } from "../../jobs/parsers.ts";

/** A readme of the maximum size takes a quarter of it. */
const CPU_MS = 2000;

export const readmeParser = defineParser<string, boolean>({
  module: new URL("./readme-html.ts", import.meta.url),
  name: "isSafeReadme",
  pool: "documents",
  cpuMs: () => CPU_MS,
  field: "content",
  content: "the readme",
});
