/** Reads the description and the packaging from a POM, and checks that the POM belongs to its path. */
import { invalidArgument } from "../../lib/errors.ts";
import type { MavenFile } from "./maven-path.ts";
import { readXmlFields } from "./xml-fields.ts";

export interface Pom {
  readonly description: string;
  readonly packaging: string;
}

/** Ten times the largest known POM. */
export const MAX_POM = 1024 * 1024;
const MAX_DESCRIPTION = 2048;

/** Paths below the root. */
const FIELDS = ["groupId", "artifactId", "version", "packaging", "name", "description", "parent/groupId", "parent/version"] as const;
type Field = (typeof FIELDS)[number];
type Fields = ReadonlyMap<Field, string>;

export interface PomFile {
  readonly bytes: Uint8Array;
  /** Where the POM is published. */
  readonly file: MavenFile;
}

/** @throws INVALID_ARGUMENT if the bytes are not a POM, or the POM of another artifact */
export function readPom({ bytes, file }: PomFile): Pom {
  const fields = readXmlFields(bytes, { root: "project", fields: FIELDS, refusal });
  assertAgrees(fields, file);
  const description = fields.get("description") || fields.get("name") || "";
  return {
    description: hasProperty(description) ? "" : description.replace(/\s+/g, " ").slice(0, MAX_DESCRIPTION).toWellFormed(),
    packaging: (fields.get("packaging") || "jar").slice(0, 100).toWellFormed(),
  };
}

/** Values with properties are not compared: only the build knows what a property stands for. */
function assertAgrees(fields: Fields, file: MavenFile): void {
  const declared = {
    groupId: fields.get("groupId") || fields.get("parent/groupId"),
    artifactId: fields.get("artifactId"),
    version: fields.get("version") || fields.get("parent/version"),
  };
  for (const field of ["groupId", "artifactId", "version"] as const) {
    const text = declared[field];
    if (!text) throw refusal(`the POM has no ${field}`);
    const isBuild = field === "version" && file.build !== undefined && file.fileName === `${file.artifactId}-${text}.pom`;
    if (text !== file[field] && !isBuild && !hasProperty(text))
      throw refusal(`the POM's ${field} is "${text.slice(0, 100)}", but the path says "${file[field]}"`);
  }
}

function hasProperty(text: string): boolean {
  return text.includes("${");
}

function refusal(reason: string): Error {
  return invalidArgument("pom", reason);
}
