/** Which format a document is of, told by its content, and what it says. Pure. */
import type { ReadContext } from "./context.ts";
import { isCsaf, readCsaf } from "./csaf.ts";
import type { Node } from "./fields.ts";
import { isOpenVex, readOpenVex } from "./openvex.ts";
import { isOsv, readOsv } from "./osv.ts";
import { BadRecord, type ImportRecord } from "./record.ts";
import { isSecdb, readSecdb } from "./secdb.ts";
import { isCve, readCve, readOsvVulnerability } from "./vulnerabilities.ts";
import { isWolfi, readWolfi } from "./wolfi.ts";

export type ImportKind = "advisories" | "vulnerabilities";

interface Format {
  readonly name: string;
  is(document: Node): boolean;
  /** Whichever of them the format holds. */
  readonly advisories?: (document: Node, context: ReadContext) => ImportRecord[];
  readonly vulnerabilities?: (document: Node, context: ReadContext) => ImportRecord[];
}

/** Those that are sure of themselves come first. */
const formats: readonly Format[] = [
  { name: "CVE record", is: isCve, vulnerabilities: readCve },
  { name: "CSAF document", is: isCsaf, advisories: readCsaf },
  { name: "OpenVEX document", is: isOpenVex, advisories: readOpenVex },
  { name: "secdb", is: isSecdb, advisories: readSecdb },
  { name: "Wolfi advisory", is: isWolfi, advisories: readWolfi },
  { name: "OSV record", is: isOsv, advisories: readOsv, vulnerabilities: readOsvVulnerability },
];

/** What is wrong with parts of it goes to `context.report`. @throws BadRecord on a document of which nothing can be used */
export function readDocument(document: Node, kind: ImportKind, context: ReadContext): ImportRecord[] {
  const format = formats.find(({ is }) => is(document));
  if (format === undefined) throw new BadRecord(document.pointer, "it is of no format that is known here");
  const read = format[kind];
  if (read === undefined) throw new BadRecord(document.pointer, `a ${format.name} holds no ${kind}`);
  return read(document, context);
}
