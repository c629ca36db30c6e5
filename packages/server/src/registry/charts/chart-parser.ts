/** The reader of charts, as a parser. */
import { defineParser } from "../../jobs/parsers.ts";
import type { BlobFile } from "../content/blob-file.ts";
import type { ReadChart } from "./read-chart.ts";

/** Enough for the largest values and for unpacking the largest archive. */
const CPU_MS = 15_000;

export const chartParser = defineParser<BlobFile, ReadChart>({
  module: new URL("./read-chart.ts", import.meta.url),
  name: "readChart",
  pool: "archives",
  cpuMs: () => CPU_MS,
  field: "digest",
  content: "the chart",
});
