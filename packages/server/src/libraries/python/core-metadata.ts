/** Parses the Core Metadata (1.0 to 2.x) of a Python package, from METADATA or PKG-INFO. Pure. */

import { invalidArgument } from "../../lib/errors.ts";
import { type PythonVersion, parsePythonVersion } from "../../lib/version-order/python.ts";
import { headerLines } from "./header-lines.ts";
import { isProjectName } from "./python-name.ts";

export interface CoreMetadata {
  /** As the author writes it. */
  readonly name: string;
  readonly version: PythonVersion;
  readonly summary: string;
  /** PEP 440 specifiers. Empty if every version of Python works. */
  readonly requiresPython: string;
  readonly classifiers: readonly string[];
}

/** Far more than any real metadata. */
export const MAX_METADATA = 4 * 1024 * 1024;
/** Ten times the longest description that was written as a field. */
const MAX_LINES = 50_000;
const MAX_SUMMARY = 2048;
const MAX_SPECIFIERS = 500;
const SPECIFIER = /^(?:~=|==|!=|<=|>=|<|>)\s*v?[0-9][0-9a-z.!+_-]*(?:\.\*)?$|^===\s*\S+$/i;

/** @throws INVALID_ARGUMENT that says what is wrong with the metadata */
export function parseCoreMetadata(bytes: Buffer): CoreMetadata {
  const fields = parseFields(decodeUtf8(bytes));
  const single = (field: string) => {
    const [value, another] = fields.get(field) ?? [];
    if (another !== undefined) throw refusal(`${field} occurs more than once`);
    return value?.trim() ?? "";
  };
  if (!/^[12]\.\d+$/.test(single("metadata-version"))) throw refusal("Metadata-Version must be 1.x or 2.x");
  const name = single("name");
  if (!isProjectName(name)) throw refusal(`Name is "${name.slice(0, 100)}", which is not a valid project name`);
  const version = parsePythonVersion(single("version"));
  if (version === undefined) throw refusal(`Version is "${single("version").slice(0, 100)}", which is not a PEP 440 version`);
  return {
    name,
    version,
    summary: (single("summary").split("\n", 1)[0] ?? "").slice(0, MAX_SUMMARY).toWellFormed(),
    requiresPython: specifiersFrom(single("requires-python")),
    classifiers: fields.get("classifier") ?? [],
  };
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw Object.assign(refusal("not UTF-8"), { cause: error });
  }
}

/** Returns the values of the headers by lower-case name, without the description after the first empty line. @throws INVALID_ARGUMENT */
export function parseFields(text: string): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  let last: string[] | undefined;
  let count = 0;
  for (const line of headerLines(text)) {
    if (++count > MAX_LINES) throw refusal(`it has more than ${MAX_LINES} lines before its description`);
    if (/^[ \t]/.test(line)) {
      if (last === undefined) throw refusal("the first line is a continuation");
      last.push(`${last.pop() ?? ""}\n${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(":");
    if (colon < 1) throw refusal("a line is not a field");
    const name = line.slice(0, colon).toLowerCase();
    last = fields.get(name) ?? [];
    fields.set(name, last);
    last.push(line.slice(colon + 1).trim());
  }
  return fields;
}

function specifiersFrom(text: string): string {
  const isGood = text.length <= MAX_SPECIFIERS && text.split(",").every((part) => part.trim() === "" || SPECIFIER.test(part.trim()));
  if (!isGood) throw refusal(`Requires-Python is "${text.slice(0, 100)}", which is not a list of version specifiers`);
  return text;
}

function refusal(reason: string): Error {
  return invalidArgument("content", `the package's metadata cannot be used: ${reason}`);
}
