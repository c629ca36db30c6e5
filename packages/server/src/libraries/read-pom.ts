/** Reads of a POM what is published of it. No document type, so no entities of its own; nothing is fetched, and properties are not filled in. */
import { decodeHTMLStrict } from "entities";
import { SaxesParser } from "saxes";
import { invalidArgument } from "../lib/errors.ts";
import type { MavenFile } from "./maven-path.ts";

export interface Pom {
  readonly description: string;
  readonly packaging: string;
}

/** The largest anybody has seen are a tenth of it. */
export const MAX_POM = 1024 * 1024;
const MAX_DEPTH = 100;
const MAX_DESCRIPTION = 2048;

/** By their path from the root. */
const READ = ["groupId", "artifactId", "version", "packaging", "name", "description", "parent/groupId", "parent/version"] as const;
type Field = (typeof READ)[number];
type Fields = ReadonlyMap<Field, string>;

/** @throws INVALID_ARGUMENT for what is no POM, or the POM of something else */
export function readPom(bytes: Buffer, file: MavenFile): Pom {
  const fields = fieldsOf(textOf(bytes));
  assertAgrees(fields, file);
  const description = fields.get("description") || fields.get("name") || "";
  return {
    description: hasProperty(description) ? "" : description.replace(/\s+/g, " ").slice(0, MAX_DESCRIPTION),
    packaging: (fields.get("packaging") || "jar").slice(0, 100),
  };
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch (error) {
    throw Object.assign(refused("it is not in the encoding that it says"), { cause: error });
  }
}

/** XML 1.0, appendix F: the byte order mark, else what the declaration says, else UTF-8. */
function encodingOf(bytes: Buffer): string {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  const head = bytes.subarray(0, 200).toString("latin1");
  return /^(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(head)?.[1] ?? "utf-8";
}

/** Maven knows those of HTML, too, and POMs of people with accents in their names have them. */
const ENTITIES = new Proxy<Record<string, string>>(
  {},
  {
    get(_target, name) {
      const reference = `&${String(name)};`;
      const text = decodeHTMLStrict(reference);
      return text === reference ? undefined : text;
    },
  },
);

function fieldsOf(text: string): Fields {
  const fields = new Map<Field, string>();
  const parser = new SaxesParser();
  parser.ENTITIES = ENTITIES;
  const path: string[] = [];
  let content = "";
  parser.on("error", (error) => {
    throw refused(`it is no XML: ${error.message.slice(0, 200)}`);
  });
  parser.on("doctype", () => {
    throw refused("it has a document type, which POMs have not");
  });
  parser.on("opentag", ({ name }) => {
    if (path.length === 0 && localName(name) !== "project") throw refused("its root is not <project>");
    if (path.length >= MAX_DEPTH) throw refused(`its elements are nested more than ${MAX_DEPTH} deep`);
    path.push(localName(name));
    content = "";
  });
  const take = (part: string): void => {
    content += part;
  };
  parser.on("text", take);
  parser.on("cdata", take);
  parser.on("closetag", () => {
    const field = READ.find((each) => each === path.slice(1).join("/"));
    if (field !== undefined && !fields.has(field)) fields.set(field, content.trim());
    path.pop();
    content = "";
  });
  parser.write(text).close();
  return fields;
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

/** What a property stands for only the build knows: that is not compared. */
function assertAgrees(fields: Fields, file: MavenFile): void {
  const said = {
    groupId: fields.get("groupId") || fields.get("parent/groupId"),
    artifactId: fields.get("artifactId"),
    version: fields.get("version") || fields.get("parent/version"),
  };
  for (const field of ["groupId", "artifactId", "version"] as const) {
    const text = said[field];
    if (!text) throw refused(`it has no ${field}`);
    const isBuild = field === "version" && file.build !== undefined && file.fileName === `${file.artifactId}-${text}.pom`;
    if (text !== file[field] && !isBuild && !hasProperty(text))
      throw refused(`its ${field} is "${text.slice(0, 100)}", and its path says "${file[field]}"`);
  }
}

function hasProperty(text: string): boolean {
  return text.includes("${");
}

function refused(what: string): Error {
  return invalidArgument("pom", what);
}
