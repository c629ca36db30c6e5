/** The readers of attached SBOMs, as parsers. They always run on threads, because they read files. */
import { defineParser } from "../../jobs/parsers.ts";
import type { AttachedDocument } from "./read-sbom-document.ts";

/** A document of the maximum size takes a quarter of it. */
const CPU_MS = 8000;
const common = {
  module: new URL("./read-sbom-document.ts", import.meta.url),
  pool: "documents",
  cpuMs: () => CPU_MS,
  field: "digest",
  content: "the SBOM",
} as const;

/** Both answer JSON text; undefined for a document that is not an SBOM. */
export const rawSbomParser = defineParser<AttachedDocument, string | undefined>({ ...common, name: "readRawSbom" });
export const parsedSbomParser = defineParser<AttachedDocument, string | undefined>({ ...common, name: "readParsedSbom" });
