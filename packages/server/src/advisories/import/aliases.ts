/** The names that a vulnerability goes by. Pure. */
import { elementsOf, MAX_NAME, type Node, optionalName } from "./fields.ts";

const MAX_ALIASES = 1000;
/** Ids that vulnerabilities have of their own; those of advisories about them are none. */
const VULNERABILITY = /^(?:CVE-\d{4}-\d{4,}|GHSA(?:-[a-z0-9]{4}){3})$/i;

/** Each once, in their order. The id of the record itself is one of them where it is a vulnerability's: it is searched and joined by. */
export function aliasesOf(id: string, ...lists: readonly Node[]): readonly string[] {
  const listed = lists.flatMap((list) => elementsOf(list, MAX_ALIASES).map((node) => optionalName(node, MAX_NAME)));
  const all = VULNERABILITY.test(id) ? [id, ...listed] : listed;
  return [...new Set(all)].filter((alias) => alias !== "");
}
