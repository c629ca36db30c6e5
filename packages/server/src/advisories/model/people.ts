/** Who wrote or reviewed the events of an advisory, as one short text that a database can index, compare and look into. Pure. */
import { createHash } from "node:crypto";

/** Further people are not found by lists. An index of PostgreSQL takes 2,704 bytes: authors, reviewers, names and the uid of 64 levels. */
export const MAX_PEOPLE = 32;
/** Characters of the text that stands for a person. */
const LENGTH = 10;

/** The same for the same people in any order; the empty string for nobody. */
export function peopleText(people: readonly string[]): string {
  const marks = [...differentPeople(people)].slice(0, MAX_PEOPLE).map(markOf);
  return marks.length === 0 ? "" : `.${marks.toSorted().join("")}`;
}

export function countPeople(people: readonly string[]): number {
  return differentPeople(people).size;
}

/** The empty string is nobody. */
function differentPeople(people: readonly string[]): ReadonlySet<string> {
  return new Set(people.filter((person) => person !== ""));
}

/** The part that such a text has where this person is one of them. */
export function personIn(person: string): string {
  return `.${markOf(person)}`;
}

function markOf(person: string): string {
  return `${createHash("sha256").update(person).digest("base64url").slice(0, LENGTH)}.`;
}
