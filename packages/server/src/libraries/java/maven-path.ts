/** The Maven 2 layout: what a path below a library names, and whether it may be there. Pure. */
import { invalidArgument } from "../../lib/errors.ts";
import { isMavenVersion, isSnapshot, snapshotBase } from "./maven-version.ts";

export interface MavenFolder {
  readonly groupId: string;
  readonly artifactId: string;
  readonly version: string;
}

export interface MavenFile extends MavenFolder {
  readonly fileName: string;
  /** Of a snapshot, whose files carry the time and the number of their build; undefined for releases, and for snapshots named literally. */
  readonly build: SnapshotBuild | undefined;
  /** What follows artifact and version: `.jar`, `-sources.jar`. */
  readonly suffix: string;
}

export interface SnapshotBuild {
  /** `20260131.235959`. */
  readonly timestamp: string;
  readonly number: number;
}

export const ALGORITHMS = ["md5", "sha1", "sha256", "sha512"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

export const METADATA = "maven-metadata.xml";
const MAX_ID = 200;
const MAX_FILE_NAME = 255;
const MAX_SEGMENTS = 40;

/** The name that people and lists know an artifact by. */
export function mavenName({ groupId, artifactId }: Pick<MavenFolder, "groupId" | "artifactId">): string {
  return `${groupId}:${artifactId}`;
}

/** `lib-1.0.jar.sha1` is about `lib-1.0.jar`. */
export function checksumOf(fileName: string): { readonly about: string; readonly algorithm: Algorithm | undefined } {
  const algorithm = ALGORITHMS.find((each) => fileName.endsWith(`.${each}`));
  return algorithm === undefined ? { about: fileName, algorithm } : { about: fileName.slice(0, -algorithm.length - 1), algorithm };
}

/** `<group>/…/<artifact>/<version>`. @throws INVALID_ARGUMENT */
export function parseMavenFolder(segments: readonly string[]): MavenFolder {
  const version = segments.at(-1) ?? "";
  if (segments.length < 3) throw refused("a file is at <group>/<artifact>/<version>/<artifact>-<version>.<extension>");
  if (!isMavenVersion(version)) throw refused(`"${short(version)}" is no version`);
  return { ...parseMavenArtifact(segments.slice(0, -1)), version };
}

/** `<group>/…/<artifact>`. @throws INVALID_ARGUMENT */
export function parseMavenArtifact(segments: readonly string[]): Omit<MavenFolder, "version"> {
  const [group, artifactId = ""] = [segments.slice(0, -1), segments.at(-1)];
  if (group.length === 0) throw refused("an artifact is at <group>/<artifact>");
  const groupId = parseMavenGroup(group);
  if (!/^[A-Za-z0-9_][\w.-]*$/.test(artifactId)) throw refused(`"${short(artifactId)}" is no artifact's id`);
  if (groupId.length + artifactId.length > MAX_ID) throw refused(`group and artifact have more than ${MAX_ID} characters`);
  return { groupId, artifactId };
}

/** `<group>/…`: its id, as which the segments are joined with dots. @throws INVALID_ARGUMENT */
export function parseMavenGroup(segments: readonly string[]): string {
  if (segments.length >= MAX_SEGMENTS) throw refused(`a path to an artifact has at most ${MAX_SEGMENTS} parts`);
  const wrong = segments.find((segment) => !/^[A-Za-z0-9_][\w-]*$/.test(segment));
  if (wrong !== undefined) throw refused(`"${short(wrong)}" is no part of a group's id`);
  return segments.join(".");
}

/** `<group>/…/<artifact>/<version>/<file>`. @throws INVALID_ARGUMENT */
export function parseMavenFile(segments: readonly string[]): MavenFile {
  const fileName = segments.at(-1) ?? "";
  const folder = parseMavenFolder(segments.slice(0, -1));
  const { artifactId, version } = folder;
  if (fileName.length > MAX_FILE_NAME || !/^[\w.+~@-]+$/.test(fileName))
    throw refused(`"${short(fileName)}" is no file's name: letters, digits and . _ + ~ @ - are`);
  const rest = fileName.startsWith(`${artifactId}-`) ? fileName.slice(artifactId.length + 1) : undefined;
  const parsed = rest === undefined ? undefined : (parseRelease(rest, version) ?? parseBuild(rest, version));
  if (parsed === undefined)
    throw refused(`the name of a file of this folder begins with ${artifactId}-${version}, not as "${short(fileName)}"`);
  return { ...folder, fileName, ...parsed };
}

function parseRelease(rest: string, version: string): Pick<MavenFile, "build" | "suffix"> | undefined {
  const suffix = rest.slice(version.length);
  return rest.startsWith(version) && isSuffix(suffix) ? { build: undefined, suffix } : undefined;
}

function parseBuild(rest: string, version: string): Pick<MavenFile, "build" | "suffix"> | undefined {
  if (!isSnapshot(version) || !rest.startsWith(snapshotBase(version))) return undefined;
  const [, timestamp, number, suffix] = /^(\d{8}\.\d{6})-(\d{1,9})(.*)$/.exec(rest.slice(snapshotBase(version).length)) ?? [];
  if (timestamp === undefined || suffix === undefined || !isSuffix(suffix)) return undefined;
  return { build: { timestamp, number: Number(number) }, suffix };
}

/** `.1.jar` is none: that would be a file of another version. */
function isSuffix(suffix: string): boolean {
  return /^(?:-.+)?\.[^.]*[A-Za-z]/.test(suffix);
}

/** `-sources.tar.gz.asc`: the classifier may have dots, the extension has them where everybody's has. Undefined for what cannot be told. */
export function splitSuffix(suffix: string): { readonly classifier: string; readonly extension: string } | undefined {
  const [, classifier = "", extension] = /^(?:-(.+?))?\.((?:tar\.)?[^.]+(?:\.asc)?)$/.exec(suffix) ?? [];
  return extension === undefined ? undefined : { classifier, extension };
}

/** Where the file is below its artifact's folder. */
export function pathInArtifact({ version, fileName }: Pick<MavenFile, "version" | "fileName">): string {
  return `${version}/${fileName}`;
}

function refused(what: string): Error {
  return invalidArgument("path", what);
}

function short(text: string): string {
  return text.slice(0, 100);
}
