/** Checks that the POMs of a Maven repository are in the folders of their artifacts, before any file is published under a wrong name. */
import { readFile } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { usageFailure } from "../failure.ts";
import type { PackageFile } from "./package-files.ts";

/** Compares only plain values: the server is the one to judge the rest of a POM. */
const PLAIN = /^[\w.-]+$/;

/** @throws Failure for the first POM in the folder of another artifact */
export async function assertMavenLayout(files: readonly PackageFile[]): Promise<void> {
  for (const { path, place } of files) {
    if (place === undefined || !place.endsWith(".pom")) continue;
    const [folder, fileName] = splitLast(place);
    const expected = expectedFolder(await readFile(path, "utf8"), splitLast(folder)[1]);
    if (expected === undefined || expected === folder) continue;
    const repository = repositoryOf(path, `${expected}/${fileName}`);
    throw usageFailure(
      `${path} is the POM of ${expected}, but its place is ${folder}`,
      repository === undefined ? `move the files to ${expected}` : `name the folder of the repository: ${repository}`,
    );
  }
}

/** `<group>/…/<artifact>/<version>` of a POM. @returns undefined if the POM does not say it plainly */
function expectedFolder(pom: string, versionOfFolder: string): string | undefined {
  const fields = readFields(pom);
  const [group, artifact] = [fields.get("groupId") ?? fields.get("parent/groupId"), fields.get("artifactId")];
  const declared = fields.get("version") ?? fields.get("parent/version");
  // The POM of a build may name its time instead of SNAPSHOT.
  const version = versionOfFolder.endsWith("-SNAPSHOT") ? versionOfFolder : declared;
  const values = [group, artifact, version].filter((value) => value !== undefined && PLAIN.test(value));
  return values.length < 3 ? undefined : `${group?.replaceAll(".", "/")}/${artifact}/${version}`;
}

/** Comments, CDATA and declarations; the tags; the text between them. */
const TOKEN = /<!--.*?-->|<!\[CDATA\[.*?\]\]>|<[?!][^>]*>|<(?<end>\/?)(?<name>[\w.:-]+)[^>]*?(?<empty>\/?)>|(?<text>[^<]+)/gs;

/** The first text of each element, by its path below the root. */
function readFields(xml: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  const open: string[] = [];
  for (const { groups = {} } of xml.matchAll(TOKEN)) {
    const { end, name, empty, text = "" } = groups;
    const path = open.slice(1).join("/");
    if (end === "/") open.pop();
    else if (name !== undefined && empty === "") open.push(name);
    else if (text.trim() !== "" && !fields.has(path)) fields.set(path, text.trim());
  }
  return fields;
}

/** The folder below which a file has this place. */
function repositoryOf(path: string, place: string): string | undefined {
  const absolute = resolve(path);
  const ending = sep + place.split("/").join(sep);
  if (!absolute.endsWith(ending)) return undefined;
  const folder = absolute.slice(0, -ending.length);
  return isAbsolute(path) ? folder : relative("", folder) || ".";
}

function splitLast(place: string): [string, string] {
  const at = place.lastIndexOf("/");
  return [place.slice(0, Math.max(at, 0)), place.slice(at + 1)];
}
