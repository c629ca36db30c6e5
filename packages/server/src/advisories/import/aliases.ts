/** The aliases of a vulnerability. Pure. */
import { elementsOf, MAX_NAME, type Node, optionalName } from "./fields.ts";

const MAX_ALIASES = 1000;
/** Ids of vulnerabilities, in contrast to ids of advisories. */
const VULNERABILITY_ID = /^(?:CVE-\d{4}-\d{4,}|GHSA(?:-[a-z0-9]{4}){3})$/i;

/**
 * Without duplicates, in order. Includes the id of the record if it is the id of a vulnerability, because searches and
 * joins use aliases.
 */
export function aliasesOf(id: string, ...lists: readonly Node[]): readonly string[] {
  const listed = lists.flatMap((list) => elementsOf(list, MAX_ALIASES).map((node) => optionalName(node, MAX_NAME)));
  const all = VULNERABILITY_ID.test(id) ? [id, ...listed] : listed;
  return [...new Set(all)].filter((alias) => alias !== "");
}
