/** Makes public advisory ids such as `HOLT-2345-cfgh-jmpq`. Imported advisories keep the ids that they have. Pure. */
import { randomInt } from "node:crypto";

/** No vowels, so that ids spell no words, and no characters that look alike. */
const CHARACTERS = "23456789cfghjmpqrvwx";
const GROUPS = 3;
const GROUP_LENGTH = 4;

/** @param prefix from the vendor profile */
export function newAdvisoryId(prefix: string): string {
  const group = () => Array.from({ length: GROUP_LENGTH }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join("");
  return [prefix, ...Array.from({ length: GROUPS }, group)].join("-");
}
