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
  const spellings = typeOfKey(key) === "pypi" ? pythonSpellings(name) : [name];
  return [...new Set(spellings.map((term) => [...term].slice(0, MAX_TERM_LENGTH).join("")))];
}

/** Separators in the name of a Python package that advisories may mix. With more, all are the same. */
const MAX_MIXED_SEPARATORS = 4;

/** The spellings of a normalized name (PEP 503): `a-b` can be `a_b` and `a.b` as well. */
function pythonSpellings(name: string): readonly string[] {
  const [first = "", ...rest] = name.split("-");
  if (rest.length > MAX_MIXED_SEPARATORS) return PYTHON_SEPARATORS.map((separator) => name.replaceAll("-", separator));
  return rest.reduce<string[]>(
    (heads, part) => heads.flatMap((head) => PYTHON_SEPARATORS.map((separator) => `${head}${separator}${part}`)),
    [first],
  );
}

const PYTHON_SEPARATORS = ["-", "_", "."];

/** Python names by PEP 503. The other ecosystems have no names that differ in case only. */
function normalize(type: string, name: string): string {
  const lower = name.toLowerCase();
  return type === "pypi" ? lower.replace(/[-_.]+/g, "-") : lower;
}
