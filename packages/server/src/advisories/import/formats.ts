/** Recognizes the format of a document by its content and reads its records. Pure. */
import type { ReadContext } from "./context.ts";
import { isCsaf, readCsaf } from "./csaf.ts";
import type { Node } from "./fields.ts";
import { isOpenVex, readOpenVex } from "./openvex.ts";
import { isOsv, readOsv } from "./osv.ts";
import { BadRecord, type ImportRecord } from "./record.ts";
import { isSecdb, readSecdb } from "./secdb.ts";
import { isCve, readCsafVulnerabilities, readCve, readOsvVulnerability } from "./vulnerabilities.ts";
import { isWolfi, readWolfi } from "./wolfi.ts";

export type ImportKind = "advisories" | "vulnerabilities";

interface Format {
  readonly name: string;
  is(document: Node): boolean;
  /** A format has a reader for each kind of record that it contains. */
  readonly advisories?: (document: Node, context: ReadContext) => ImportRecord[];
  readonly vulnerabilities?: (document: Node, context: ReadContext) => ImportRecord[];
}

/** Formats with unambiguous marks come first. */
const formats: readonly Format[] = [
  { name: "CVE record", is: isCve, vulnerabilities: readCve },
  { name: "CSAF document", is: isCsaf, advisories: readCsaf, vulnerabilities: readCsafVulnerabilities },
  { name: "OpenVEX document", is: isOpenVex, advisories: readOpenVex },
  { name: "secdb", is: isSecdb, advisories: readSecdb },
  { name: "Wolfi advisory", is: isWolfi, advisories: readWolfi },
  { name: "OSV record", is: isOsv, advisories: readOsv, vulnerabilities: readOsvVulnerability },
];

/** Reports problems of parts to `context.report`. @throws BadRecord if nothing of the document is usable */
export function readDocument(document: Node, kind: ImportKind, context: ReadContext): ImportRecord[] {
  const format = formats.find(({ is }) => is(document));
  if (format === undefined)
    throw new BadRecord(document.pointer, "unrecognized format; expected CVE, CSAF, OpenVEX, secdb, Wolfi YAML or OSV");
  const read = format[kind];
  if (read === undefined) throw new BadRecord(document.pointer, `a ${format.name} contains no ${kind}`);
  return read(document, context);
}
