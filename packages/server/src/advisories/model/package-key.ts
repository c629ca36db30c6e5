/** Builds the key that joins packages of images with artifacts of advisories: type and normalized name. Pure. */
import { packageType } from "../export/ecosystems.ts";

/** As in the search terms of advisories. */
const MAX_TERM_LENGTH = 200;

/** Such as `pypi django-storages`. */
export function packageKey(type: string, name: string): string {
  const packaged = packageType(type);
  return `${packaged} ${normalize(packaged, name)}`;
}

/** The type part of a key. */
function typeOfKey(key: string): string {
  return key.slice(0, key.indexOf(" "));
}

/** The search terms under which an advisory about the package may be found. */
export function termsOfKey(key: string): readonly string[] {
  const name = key.slice(key.indexOf(" ") + 1);
  const spellings = typeOfKey(key) === "pypi" ? [name, name.replaceAll("-", "_"), name.replaceAll("-", ".")] : [name];
  return [...new Set(spellings.map((term) => [...term].slice(0, MAX_TERM_LENGTH).join("")))];
}

/** Python names by PEP 503. The other ecosystems have no names that differ in case only. */
function normalize(type: string, name: string): string {
  const lower = name.toLowerCase();
  return type === "pypi" ? lower.replace(/[-_.]+/g, "-") : lower;
}
