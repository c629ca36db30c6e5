/** Who wrote or reviewed the events of an advisory, as one short text that a database can index, compare and look into. Pure. */
import { createHash } from "node:crypto";

/** Further people are not found by lists; an index takes no text of any length. */
export const MAX_PEOPLE = 100;
/** Characters of the text that stands for a person. */
const LENGTH = 10;

/** The same for the same people in any order; the empty string for nobody. */
export function peopleText(people: readonly string[]): string {
  const marks = [...new Set(people)]
    .filter((person) => person !== "")
    .slice(0, MAX_PEOPLE)
    .map(markOf);
  return marks.length === 0 ? "" : `.${marks.toSorted().join("")}`;
}

/** The part that such a text has where this person is one of them. */
export function personIn(person: string): string {
  return `.${markOf(person)}`;
}

function markOf(person: string): string {
  return `${createHash("sha256").update(person).digest("base64url").slice(0, LENGTH)}.`;
}
