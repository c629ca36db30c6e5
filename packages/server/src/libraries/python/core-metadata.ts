/** What a Python package says of itself (Core Metadata 1.0 to 2.x), in METADATA or PKG-INFO. Pure. */
import { invalidArgument } from "../../lib/errors.ts";
import { type PythonVersion, parsePythonVersion } from "../../lib/version-order/python.ts";
import { isProjectName } from "./python-name.ts";

export interface CoreMetadata {
  /** As its author writes it. */
  readonly name: string;
  readonly version: PythonVersion;
  readonly summary: string;
  /** PEP 440 specifiers; empty for any. */
  readonly requiresPython: string;
  readonly classifiers: readonly string[];
}

/** More than any real file of this kind has. */
export const MAX_METADATA = 4 * 1024 * 1024;
const MAX_SUMMARY = 2048;
const MAX_SPECIFIERS = 500;
const SPECIFIER = /^(?:~=|==|!=|<=|>=|<|>)\s*v?[0-9][0-9a-z.!+_-]*(?:\.\*)?$|^===\s*\S+$/i;

/** @throws INVALID_ARGUMENT that says what is wrong with it */
export function parseCoreMetadata(bytes: Buffer): CoreMetadata {
  const fields = fieldsOf(textOf(bytes));
  const single = (field: string) => {
    const [value, another] = fields.get(field) ?? [];
    if (another !== undefined) throw refused(`${field} is there more than once`);
    return value?.trim() ?? "";
  };
  if (!/^[12]\.\d+$/.test(single("metadata-version"))) throw refused("Metadata-Version must be 1.x or 2.x");
  const name = single("name");
  if (!isProjectName(name)) throw refused(`Name is "${name.slice(0, 100)}", which is no project's name`);
  const version = parsePythonVersion(single("version"));
  if (version === undefined) throw refused(`Version is "${single("version").slice(0, 100)}", which PEP 440 does not know`);
  return {
    name,
    version,
    summary: (single("summary").split("\n", 1)[0] ?? "").slice(0, MAX_SUMMARY),
    requiresPython: specifiersFrom(single("requires-python")),
    classifiers: fields.get("classifier") ?? [],
  };
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw Object.assign(refused("it is not UTF-8"), { cause: error });
  }
}

/** The headers, by their lower-case names; what follows the first empty line is the description, which nobody here needs. */
function fieldsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  let last: string[] | undefined;
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line === "") break;
    if (/^[ \t]/.test(line)) {
      if (last === undefined) throw refused("it begins with the continuation of a line");
      last.push(`${last.pop() ?? ""}\n${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(":");
    if (colon < 1) throw refused("it has a line that is no field");
    const name = line.slice(0, colon).toLowerCase();
    last = fields.get(name) ?? [];
    fields.set(name, last);
    last.push(line.slice(colon + 1).trim());
  }
  return fields;
}

function specifiersFrom(text: string): string {
  const isGood = text.length <= MAX_SPECIFIERS && text.split(",").every((part) => part.trim() === "" || SPECIFIER.test(part.trim()));
  if (!isGood) throw refused(`Requires-Python is "${text.slice(0, 100)}", which are no version specifiers`);
  return text;
}

function refused(description: string): Error {
  return invalidArgument("content", `the package's metadata cannot be used: ${description}`);
}
