/**
 * Encodes the authors or reviewers of an advisory's events as one short string that a database can index, compare and
 * search. Pure.
 */
import { createHash } from "node:crypto";

/**
 * Lists do not find people beyond these. An index entry of PostgreSQL is limited to 2,704 bytes, which must hold
 * authors, reviewers, names and a uid of 64 levels.
 */
export const MAX_PEOPLE = 32;
/** Base64url characters of the SHA-256 of a person. */
const HASH_LENGTH = 10;

/** The same people give the same string in any order; no people give the empty string. Shape: `.<hash>.<hash>.` */
export function encodePeople(people: readonly string[]): string {
  const marks = [...distinctPeople(people)].slice(0, MAX_PEOPLE).map(personHash);
  return marks.length === 0 ? "" : `.${marks.toSorted().join("")}`;
}

export function countPeople(people: readonly string[]): number {
  return distinctPeople(people).size;
}

/** Leaves out the empty string, which stands for no person. */
function distinctPeople(people: readonly string[]): ReadonlySet<string> {
  return new Set(people.filter((person) => person !== ""));
}

/** The substring that `encodePeople` contains if this person is among its people. */
export function encodePerson(person: string): string {
  return `.${personHash(person)}`;
}

/** Imports encode the same person for every advisory. */
let last = { person: "", hash: "" };

function personHash(person: string): string {
  if (last.person !== person || last.hash === "") {
    last = { person, hash: `${createHash("sha256").update(person).digest("base64url").slice(0, HASH_LENGTH)}.` };
  }
  return last.hash;
}
