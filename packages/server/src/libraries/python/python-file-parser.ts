/** The reader of wheels and source distributions, as a parser that runs on a thread. */
import { defineParser } from "../../jobs/parsers.ts";
import { archiveCpuMs } from "../package-archive.ts";
import type { PythonFile, PythonFileContent } from "./read-python-file.ts";

export const pythonFileParser = defineParser<PythonFile, PythonFileContent>({
  module: new URL("./read-python-file.ts", import.meta.url),
  name: "readPythonFile",
  pool: "archives",
  cpuMs: ({ file }) => archiveCpuMs(file),
  field: "content",
  content: "the package",
});
