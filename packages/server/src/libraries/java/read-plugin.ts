/**
 * Reads from a jar in place whether it is a Maven plugin, and which. The layout allows any bytes as a jar, so an
 * unreadable one is not a plugin.
 */
import { ArchiveError } from "../../archives/limits.ts";
import type { RandomAccessBytes } from "../../archives/random-access-bytes.ts";
import { ZipArchive, type ZipEntry } from "../../archives/zip-archive.ts";
import { type HoltError, invalidArgument } from "../../lib/errors.ts";
import { JAR_LIMITS, type PackageFile, withBytes } from "../package-archive.ts";
import type { MavenFile } from "./maven-path.ts";
import { type MavenPlugin, prefixOf } from "./maven-plugins.ts";
import { readXmlFields } from "./xml-fields.ts";

const DESCRIPTOR = "META-INF/maven/plugin.xml";
/** Several times the descriptor of the plugins with the most goals. */
const MAX_DESCRIPTOR = 4 * 1024 * 1024;
/** Real descriptors repeat themselves much, and expand to 25 times their size. Above `FREE_BYTES`. */
const MAX_RATIO = 100;
const FREE_BYTES = 256 * 1024;
const MAX_NAME = 200;
const FIELDS = ["groupId", "artifactId", "goalPrefix", "name"] as const;

export interface JarFile {
  readonly jar: PackageFile;
  /** Where the jar is published. */
  readonly file: MavenFile;
}

/** Undefined for a jar that is not a plugin. @throws INVALID_ARGUMENT for a plugin whose descriptor cannot be used */
export async function readPlugin({ jar, file }: JarFile): Promise<MavenPlugin | undefined> {
  const descriptor = await withBytes(jar, readDescriptor);
  if (descriptor === undefined) return undefined;
  const fields = readXmlFields(descriptor, { root: "plugin", fields: FIELDS, refusal });
  // A jar that bundles other jars has their descriptors.
  if (fields.get("groupId") !== file.groupId || fields.get("artifactId") !== file.artifactId) return undefined;
  const prefix = fields.get("goalPrefix") || prefixOf(file.artifactId);
  if (prefix.length > MAX_NAME || !/^[\w.-]*$/.test(prefix))
    throw refusal(`goalPrefix is "${prefix.slice(0, 100)}"; expected at most ${MAX_NAME} letters, digits or the characters . _ -`);
  return { prefix, name: (fields.get("name") ?? "").replace(/\s+/g, " ").slice(0, MAX_NAME).toWellFormed() };
}

async function readDescriptor(bytes: RandomAccessBytes): Promise<Buffer | undefined> {
  try {
    const zip = await ZipArchive.open(bytes, JAR_LIMITS);
    const entry = await findDescriptor(zip);
    if (entry === undefined) return undefined;
    if (entry.expandedSize > MAX_DESCRIPTOR) throw refusal(`larger than ${MAX_DESCRIPTOR} bytes`);
    if (entry.expandedSize > Math.max(FREE_BYTES, MAX_RATIO * entry.compressedSize))
      throw refusal(`it expands to more than ${MAX_RATIO} times its size`);
    return await zip.read(entry, MAX_DESCRIPTOR);
  } catch (error) {
    if (error instanceof ArchiveError) return undefined;
    throw error;
  }
}

async function findDescriptor(zip: ZipArchive): Promise<ZipEntry | undefined> {
  zip.assertEntryCount();
  for await (const entry of zip.entries()) {
    if (entry.escapes) return undefined;
    if (entry.path === DESCRIPTOR) return entry.isEncrypted || entry.unknownMethod !== undefined ? undefined : entry;
  }
  return undefined;
}

function refusal(reason: string): HoltError {
  return invalidArgument("plugin", `the jar's ${DESCRIPTOR} cannot be used: ${reason}`);
}
