/** Reads out of a jar's bytes, of which it needs few, what plugin of Maven it is. A jar is any file to the layout, so one that cannot be read is none. */
import { buffer } from "node:stream/consumers";
import { type Entry, fromRandomAccessReaderPromise, type ZipFile } from "yauzl";
import { HoltError, invalidArgument } from "../../lib/errors.ts";
import { type ReadRange, WindowReader } from "../zip-window.ts";
import type { MavenFile } from "./maven-path.ts";
import { type MavenPlugin, prefixOf } from "./maven-plugins.ts";
import { readXmlFields } from "./xml-fields.ts";

const DESCRIPTOR = "META-INF/maven/plugin.xml";
/** Several times that of the plugins with the most goals. */
const MAX_DESCRIPTOR = 4 * 1024 * 1024;
const MAX_ENTRIES = 200_000;
const MAX_NAME = 200;
const FIELDS = ["groupId", "artifactId", "goalPrefix", "name"] as const;

/** @throws INVALID_ARGUMENT where it is a plugin, and what it says of itself cannot be used */
export async function readPlugin(read: ReadRange, size: number, file: MavenFile): Promise<MavenPlugin | undefined> {
  const descriptor = await readDescriptor(read, size);
  if (descriptor === undefined) return undefined;
  const fields = readXmlFields(descriptor, { root: "plugin", fields: FIELDS, refused });
  // Jars that others were put into have the descriptors of those.
  if (fields.get("groupId") !== file.groupId || fields.get("artifactId") !== file.artifactId) return undefined;
  const prefix = fields.get("goalPrefix") || prefixOf(file.artifactId);
  if (prefix.length > MAX_NAME || !/^[\w.-]*$/.test(prefix))
    throw refused(`its goalPrefix is "${prefix.slice(0, 100)}": letters, digits and . _ - are, at most ${MAX_NAME} of them`);
  return { prefix, name: (fields.get("name") ?? "").replace(/\s+/g, " ").slice(0, MAX_NAME) };
}

async function readDescriptor(read: ReadRange, size: number): Promise<Buffer | undefined> {
  const reader = new WindowReader(read, size);
  try {
    const zip = await fromRandomAccessReaderPromise(reader, size, { autoClose: false });
    const entry = await findEntry(zip);
    if (entry === undefined) return undefined;
    if (entry.uncompressedSize > MAX_DESCRIPTOR) throw refused(`it is larger than ${MAX_DESCRIPTOR} bytes`);
    return await buffer(await zip.openReadStreamPromise(entry));
  } catch (error) {
    if (reader.failure !== undefined) throw reader.failure;
    // That of the disk is not the archive's fault.
    if (error instanceof HoltError || "syscall" in (error as Error)) throw error;
    return undefined;
  }
}

async function findEntry(zip: ZipFile): Promise<Entry | undefined> {
  if (zip.entryCount > MAX_ENTRIES) return undefined;
  for await (const entry of zip.eachEntry()) if (entry.fileName === DESCRIPTOR) return entry;
  return undefined;
}

function refused(what: string): HoltError {
  return invalidArgument("plugin", `the jar's ${DESCRIPTOR} cannot be used: ${what}`);
}
