/** Compatibility tags of wheels (PEP 425): those of the file's name and those that the WHEEL file inside says must be the same. Pure. */
import { invalidArgument } from "../../lib/errors.ts";

/** A hundred times those of any real wheel. */
const MAX_TAGS = 10_000;

/**
 * One that says nothing of tags does not disagree, and PyPI takes it. Installers choose by the name, and some go by the WHEEL file later.
 * @param wheel the WHEEL file
 * @param nameTags as the file's name has them: `py2.py3-none-any`
 * @throws INVALID_ARGUMENT
 */
export function assertTagsAgree(wheel: Buffer, nameTags: string): void {
  const said = tagsOf(wheel);
  if (said.length === 0) return;
  const ofName = expand([nameTags], "the file's name");
  const ofWheel = expand(said, "its WHEEL");
  const unsaid = firstMissing(ofName, ofWheel);
  if (unsaid !== undefined) throw refused(`the file's name says the tag "${short(unsaid)}", and its WHEEL "${short(said.join(", "))}"`);
  const unnamed = firstMissing(ofWheel, ofName);
  if (unnamed !== undefined) throw refused(`the file's name says the tags "${nameTags}", and its WHEEL also "${short(unnamed)}"`);
}

/** The values of its `Tag:` lines, which like all of its fields come before an empty line. */
function tagsOf(wheel: Buffer): readonly string[] {
  const tags: string[] = [];
  for (const line of wheel.toString("utf8").split(/\r\n|\n|\r/)) {
    if (line === "") break;
    const tag = /^tag[ \t]*:(.*)$/i.exec(line)?.[1]?.trim();
    if (tag) tags.push(tag);
  }
  return tags;
}

/** Each for itself: `py2.py3-none-any` is `py2-none-any` and `py3-none-any`. In small letters, as they are compared. */
function expand(tags: readonly string[], whose: string): ReadonlySet<string> {
  const expanded = new Set<string>();
  let count = 0;
  for (const tag of tags) {
    // Of python, abi and platform; what has more parts is no tag, and a fourth tells.
    const sets = tag
      .toLowerCase()
      .split("-", 4)
      .map((part) => part.split("."));
    count += sets.reduce((product, { length }) => product * length, 1);
    if (count > MAX_TAGS) throw refused(`${whose} has more than ${MAX_TAGS} tags`);
    const all = sets.reduce<string[]>((heads, set) => heads.flatMap((head) => set.map((part) => `${head}-${part}`)), [""]);
    for (const each of all) expanded.add(each.slice(1));
  }
  return expanded;
}

function firstMissing(wanted: ReadonlySet<string>, present: ReadonlySet<string>): string | undefined {
  return [...wanted].find((tag) => !present.has(tag));
}

function refused(description: string): Error {
  return invalidArgument("content", description);
}

function short(text: string): string {
  return text.slice(0, 100);
}
