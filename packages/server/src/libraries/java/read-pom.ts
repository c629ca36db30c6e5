/** Reads of a POM what is published of it. */
import { invalidArgument } from "../../lib/errors.ts";
import type { MavenFile } from "./maven-path.ts";
import { readXmlFields } from "./xml-fields.ts";

export interface Pom {
  readonly description: string;
  readonly packaging: string;
}

/** The largest anybody has seen are a tenth of it. */
export const MAX_POM = 1024 * 1024;
const MAX_DESCRIPTION = 2048;

/** By their path from the root. */
const READ = ["groupId", "artifactId", "version", "packaging", "name", "description", "parent/groupId", "parent/version"] as const;
type Field = (typeof READ)[number];
type Fields = ReadonlyMap<Field, string>;

/** @throws INVALID_ARGUMENT for what is no POM, or the POM of something else */
export function readPom(bytes: Buffer, file: MavenFile): Pom {
  const fields = readXmlFields(bytes, { root: "project", fields: READ, refused });
  assertAgrees(fields, file);
  const description = fields.get("description") || fields.get("name") || "";
  return {
    description: hasProperty(description) ? "" : description.replace(/\s+/g, " ").slice(0, MAX_DESCRIPTION),
    packaging: (fields.get("packaging") || "jar").slice(0, 100),
  };
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
