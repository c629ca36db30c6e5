/** The Maven 2 layout: parses the paths below a library, and checks that files have the names of their folder. Pure. */
import { invalidArgument } from "../../lib/errors.ts";
import { isMavenVersion, isSnapshot, snapshotBase } from "./maven-version.ts";

export interface MavenFolder {
  readonly groupId: string;
  readonly artifactId: string;
  readonly version: string;
}

export interface MavenFile extends MavenFolder {
  readonly fileName: string;
  /** The time and the number in the name of a snapshot's file. Undefined for releases, and for files that are named `-SNAPSHOT`. */
  readonly build: SnapshotBuild | undefined;
  /** The rest of the name after artifact and version, such as `.jar` or `-sources.jar`. */
  readonly suffix: string;
}

export interface SnapshotBuild {
  /** Such as `20260131.235959`. */
  readonly timestamp: string;
  readonly number: number;
}

export const ALGORITHMS = ["md5", "sha1", "sha256", "sha512"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

/** The checksum of a file, at the path of the file with the algorithm as extension. */
export interface MavenChecksum {
  readonly file: MavenFile;
  readonly algorithm: Algorithm;
}

export const METADATA = "maven-metadata.xml";
const MAX_ID = 200;
const MAX_FILE_NAME = 255;
const MAX_SEGMENTS = 40;

/** The name of an artifact in lists: `group:artifact`. */
export function mavenName({ groupId, artifactId }: Pick<MavenFolder, "groupId" | "artifactId">): string {
  return `${groupId}:${artifactId}`;
}

/** Splits `lib-1.0.jar.sha1` into the file that it is about and the algorithm. Other names have no algorithm. */
export function splitChecksum(fileName: string): { readonly about: string; readonly algorithm: Algorithm | undefined } {
  const algorithm = ALGORITHMS.find((each) => fileName.endsWith(`.${each}`));
  return algorithm === undefined ? { about: fileName, algorithm } : { about: fileName.slice(0, -algorithm.length - 1), algorithm };
}

/** `<group>/…/<artifact>/<version>`. @throws INVALID_ARGUMENT */
export function parseMavenFolder(segments: readonly string[]): MavenFolder {
  const version = segments.at(-1) ?? "";
  if (segments.length < 3) throw refusal("a file is at <group>/<artifact>/<version>/<artifact>-<version>.<extension>");
  if (!isMavenVersion(version)) throw refusal(`"${abbreviated(version)}" is not a version`);
  return { ...parseMavenArtifact(segments.slice(0, -1)), version };
}

/** `<group>/…/<artifact>`. @throws INVALID_ARGUMENT */
export function parseMavenArtifact(segments: readonly string[]): Omit<MavenFolder, "version"> {
  const group = segments.slice(0, -1);
  const artifactId = segments.at(-1) ?? "";
  if (group.length === 0) throw refusal("an artifact is at <group>/<artifact>");
  const groupId = parseMavenGroup(group);
  if (!/^[A-Za-z0-9_][\w.-]*$/.test(artifactId)) throw refusal(`"${abbreviated(artifactId)}" is not an artifact id`);
  if (groupId.length + artifactId.length > MAX_ID) throw refusal(`group id and artifact id together have more than ${MAX_ID} characters`);
  return { groupId, artifactId };
}

/** `<group>/…`. Returns the group id: the segments, joined with dots. @throws INVALID_ARGUMENT */
export function parseMavenGroup(segments: readonly string[]): string {
  if (segments.length >= MAX_SEGMENTS) throw refusal(`a path to an artifact has at most ${MAX_SEGMENTS} parts`);
  const wrong = segments.find((segment) => !/^[A-Za-z0-9_][\w-]*$/.test(segment));
  if (wrong !== undefined) throw refusal(`"${abbreviated(wrong)}" is not part of a group id`);
  return segments.join(".");
}

/** `<group>/…/<artifact>/<version>/<file>`. @throws INVALID_ARGUMENT */
export function parseMavenFile(segments: readonly string[]): MavenFile {
  const fileName = segments.at(-1) ?? "";
  const folder = parseMavenFolder(segments.slice(0, -1));
  const { artifactId, version } = folder;
  if (fileName.length > MAX_FILE_NAME || !/^[\w.+~@-]+$/.test(fileName))
    throw refusal(`"${abbreviated(fileName)}" is not a file name; expected letters, digits and the characters . _ + ~ @ -`);
  const rest = fileName.startsWith(`${artifactId}-`) ? fileName.slice(artifactId.length + 1) : undefined;
  const parsed = rest === undefined ? undefined : (parseRelease(rest, version) ?? parseBuild(rest, version));
  if (parsed === undefined)
    throw refusal(`the names of files in this folder begin with ${artifactId}-${version}, unlike "${abbreviated(fileName)}"`);
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

/** `.1.jar` is not a suffix: the file would belong to another version. */
function isSuffix(suffix: string): boolean {
  return /^(?:-.+)?\.[^.]*[A-Za-z]/.test(suffix);
}

/** Splits `-sources.tar.gz.asc`. Classifiers may have dots; extensions have them only in `tar.gz` and the like, and before `asc`. */
export function splitSuffix(suffix: string): { readonly classifier: string; readonly extension: string } | undefined {
  const [, classifier = "", extension] = /^(?:-(.+?))?\.((?:tar\.)?[^.]+(?:\.asc)?)$/.exec(suffix) ?? [];
  return extension === undefined ? undefined : { classifier, extension };
}

/** The path below the artifact's folder. */
export function pathInArtifact({ version, fileName }: Pick<MavenFile, "version" | "fileName">): string {
  return `${version}/${fileName}`;
}

function refusal(reason: string): Error {
  return invalidArgument("path", reason);
}

function abbreviated(text: string): string {
  return text.slice(0, 100);
}
