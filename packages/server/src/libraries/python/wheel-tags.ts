/** Compatibility tags of wheels (PEP 425): the file's name and the WHEEL file inside must have the same tags. Pure. */

import { invalidArgument } from "../../lib/errors.ts";
import { headerLines } from "./header-lines.ts";

/** A hundred times as many as any real wheel has. */
const MAX_TAGS = 10_000;

/**
 * Installers choose a wheel by its name, and some use the WHEEL file later. A WHEEL file without tags is accepted, as on PyPI.
 * @param wheel the WHEEL file
 * @param nameTags the tags in the file's name, such as `py2.py3-none-any`
 * @throws INVALID_ARGUMENT
 */
export function assertTagsAgree(wheel: Buffer, nameTags: string): void {
  const wheelTags = parseTags(wheel);
  if (wheelTags.length === 0) return;
  const inName = expand([nameTags], "the file name");
  const inWheel = expand(wheelTags, "WHEEL");
  const onlyInName = firstMissing(inName, inWheel);
  if (onlyInName !== undefined)
    throw refusal(`the file name has the tag "${abbreviated(onlyInName)}", but WHEEL has "${abbreviated(wheelTags.join(", "))}"`);
  const onlyInWheel = firstMissing(inWheel, inName);
  if (onlyInWheel !== undefined)
    throw refusal(`the file name has the tags "${nameTags}", but WHEEL also has "${abbreviated(onlyInWheel)}"`);
}

/** The values of the `Tag:` lines, which precede the first empty line. */
function parseTags(wheel: Buffer): readonly string[] {
  const tags: string[] = [];
  for (const line of headerLines(wheel.toString("utf8"))) {
    const tag = /^tag[ \t]*:(.*)$/i.exec(line)?.[1]?.trim();
    if (tag) tags.push(tag);
    if (tags.length > MAX_TAGS) throw refusal(`WHEEL has more than ${MAX_TAGS} tags`);
  }
  return tags;
}

/** Expands `py2.py3-none-any` to `py2-none-any` and `py3-none-any`, in lower case. @param source names the tags in errors */
function expand(tags: readonly string[], source: string): ReadonlySet<string> {
  const expanded = new Set<string>();
  let count = 0;
  for (const tag of tags) {
    // A tag has three parts: python, abi and platform. A fourth part is kept, so that the tag matches no valid one.
    const sets = tag
      .toLowerCase()
      .split("-", 4)
      .map((part) => part.split("."));
    count += sets.reduce((product, { length }) => product * length, 1);
    if (count > MAX_TAGS) throw refusal(`${source} has more than ${MAX_TAGS} tags`);
    const all = sets.reduce<string[]>((heads, set) => heads.flatMap((head) => set.map((part) => `${head}-${part}`)), [""]);
    for (const each of all) expanded.add(each.slice(1));
  }
  return expanded;
}

function firstMissing(wanted: ReadonlySet<string>, present: ReadonlySet<string>): string | undefined {
  return [...wanted].find((tag) => !present.has(tag));
}

function refusal(reason: string): Error {
  return invalidArgument("content", reason);
}

function abbreviated(text: string): string {
  return text.slice(0, 100);
}
