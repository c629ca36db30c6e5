/**
 * Writes `maven-metadata.xml` from the database on each request: the versions of an artifact, the builds of a snapshot, or the
 * plugins of a group. A folder can be an artifact and a group; its document then has both parts. Pure.
 */
import { escapeMarkup } from "../../lib/markup.ts";
import type { FoundSnapshotFile, FoundVersion } from "./find-maven.ts";
import { type MavenFolder, parseMavenFile, type SnapshotBuild, splitSuffix } from "./maven-path.ts";
import type { PluginOfGroup } from "./maven-plugins.ts";
import { isSnapshot, snapshotBase } from "./maven-version.ts";

/** Lines of XML. */
export type MetadataPart = readonly string[];

/** @param parts of different kinds */
export function metadataDocument(parts: readonly MetadataPart[]): string {
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<metadata modelVersion="1.1.0">', ...indent(parts.flat()), "</metadata>", ""].join(
    "\n",
  );
}

/** @param plugins at least one */
export function groupMetadata(plugins: readonly PluginOfGroup[]): MetadataPart {
  return ["<plugins>", ...indent(plugins.flatMap(pluginElement)), "</plugins>"];
}

function pluginElement({ name, prefix, artifactId }: PluginOfGroup): string[] {
  const lines = [element("name", escapeMarkup(name) || artifactId), element("prefix", prefix), element("artifactId", artifactId)];
  return ["<plugin>", ...indent(lines), "</plugin>"];
}

/** @param versions from the smallest to the greatest, at least one */
export function artifactMetadata({ groupId, artifactId }: Omit<MavenFolder, "version">, versions: readonly FoundVersion[]): MetadataPart {
  const names = versions.map(({ version }) => version);
  const release = names.findLast((version) => !isSnapshot(version));
  const lastUpdated = versions.reduce((last, { update_time: time }) => (time > last ? time : last), "");
  return [
    element("groupId", groupId),
    element("artifactId", artifactId),
    "<versioning>",
    ...indent([
      element("latest", names.at(-1) ?? ""),
      ...(release === undefined ? [] : [element("release", release)]),
      "<versions>",
      ...indent(names.map((version) => element("version", version))),
      "</versions>",
      element("lastUpdated", compactTime(lastUpdated)),
    ]),
    "</versioning>",
  ];
}

/** The newest file of one classifier and extension. */
export interface NewestFile {
  readonly classifier: string;
  readonly extension: string;
  readonly value: string;
  /** Such as `20260131235959`. */
  readonly updated: string;
  readonly build: SnapshotBuild | undefined;
}

/** @param newest of the version, at least one */
export function snapshotMetadata({ groupId, artifactId, version }: MavenFolder, newest: readonly NewestFile[]): MetadataPart {
  const lastUpdated = newest.reduce((last, { updated }) => (updated > last ? updated : last), "");
  const build = newest.reduce<SnapshotBuild | undefined>((last, each) => laterOf(last, each.build), undefined);
  return [
    element("groupId", groupId),
    element("artifactId", artifactId),
    element("version", version),
    "<versioning>",
    ...indent([
      ...(build === undefined ? [] : snapshotElement(build)),
      element("lastUpdated", lastUpdated),
      "<snapshotVersions>",
      ...indent(newest.flatMap(snapshotVersionElement)),
      "</snapshotVersions>",
    ]),
    "</versioning>",
  ];
}

/** @param newest by suffix; the files of a chunk replace older ones */
export function collectNewest(
  newest: Map<string, NewestFile>,
  { groupId, artifactId }: MavenFolder,
  files: readonly FoundSnapshotFile[],
): void {
  const segments = [...groupId.split("."), artifactId];
  for (const { path, create_time: time } of files) {
    const { suffix, version, build } = parseMavenFile([...segments, ...path.split("/")]);
    const split = splitSuffix(suffix);
    if (split === undefined) continue;
    const value = build === undefined ? version : `${snapshotBase(version)}${build.timestamp}-${build.number}`;
    const each = { ...split, value, updated: build?.timestamp.replace(".", "") ?? compactTime(time), build };
    const known = newest.get(suffix);
    if (known === undefined || isNewer(each, known)) newest.set(suffix, each);
  }
}

function isNewer(one: NewestFile, other: NewestFile): boolean {
  return one.updated > other.updated || (one.updated === other.updated && (one.build?.number ?? 0) > (other.build?.number ?? 0));
}

/** Compares the number first: clients use the next number for their next build, whatever their clocks say. */
function laterOf(one: SnapshotBuild | undefined, other: SnapshotBuild | undefined): SnapshotBuild | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  if (one.number !== other.number) return one.number > other.number ? one : other;
  return one.timestamp >= other.timestamp ? one : other;
}

function snapshotElement({ timestamp, number }: SnapshotBuild): string[] {
  return ["<snapshot>", ...indent([element("timestamp", timestamp), element("buildNumber", String(number))]), "</snapshot>"];
}

function snapshotVersionElement({ classifier, extension, value, updated }: NewestFile): string[] {
  return [
    "<snapshotVersion>",
    ...indent([
      ...(classifier === "" ? [] : [element("classifier", classifier)]),
      element("extension", extension),
      element("value", value),
      element("updated", updated),
    ]),
    "</snapshotVersion>",
  ];
}

/** @param text already escaped, or of characters that the layout allows, which need no escaping */
function element(name: string, text: string): string {
  return `<${name}>${text}</${name}>`;
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

/** Turns an ISO time into `20260131235959`. */
function compactTime(iso: string): string {
  return iso.replace(/\D/g, "").slice(0, 14);
}
