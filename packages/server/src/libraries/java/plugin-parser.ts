/** The reader of the descriptors in jars, as a parser that runs on a thread: a small jar can have a large directory. */
import { defineParser } from "../../jobs/parsers.ts";
import { archiveCpuMs } from "../package-archive.ts";
import type { MavenPlugin } from "./maven-plugins.ts";
import type { JarFile } from "./read-plugin.ts";

export const pluginParser = defineParser<JarFile, MavenPlugin | undefined>({
  module: new URL("./read-plugin.ts", import.meta.url),
  name: "readPlugin",
  pool: "archives",
  cpuMs: ({ jar }) => archiveCpuMs({ ...jar, size: 0 }),
  field: "plugin",
  content: "the jar",
});
