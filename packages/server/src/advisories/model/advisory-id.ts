/** Public identifiers of advisories, as they are made here; ids from elsewhere are taken as they come. Pure. */
import { randomInt } from "node:crypto";

/** Without vowels, so that they spell nothing, and without what looks like something else. */
const CHARACTERS = "23456789cfghjmpqrvwx";
const GROUPS = 3;
const GROUP_LENGTH = 4;

/** @param prefix of the vendor profile */
export function newAdvisoryId(prefix: string): string {
  const group = () => Array.from({ length: GROUP_LENGTH }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join("");
  return [prefix, ...Array.from({ length: GROUPS }, group)].join("-");
}
