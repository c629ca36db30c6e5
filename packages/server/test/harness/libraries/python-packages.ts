/** Makes valid and hostile Python packages and the forms that upload them, without build tools or clients. */
import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import type { Answer, RegistryClient } from "../registry/registry-client.ts";

export interface ZipEntry {
  readonly name: string;
  readonly content: string | Buffer;
  /** A false size for the archive's directory. */
  readonly claimedSize?: number;
  /** Unix file type and permissions. */
  readonly mode?: number;
  /**
   * General purpose flags in addition to UTF-8 names. With 8, the sizes follow the content, as in an archive that was
   * written as a stream.
   */
  readonly flags?: number;
  /** Another name, in an extra field of the directory. */
  readonly unicodeName?: string;
}

export interface TarEntry extends ZipEntry {
  /** The entry is a link instead of a file. */
  readonly link?: { readonly type: "symlink" | "link"; readonly to: string };
}

/** A zip archive of deflated entries. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, claimedSize, mode = 0, flags = 0, unicodeName } of entries) {
    const bytes = Buffer.from(content as string);
    const packed = deflateRawSync(bytes);
    // The fields from "version needed" to the lengths are the same in both headers.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800 | flags, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claimedSize ?? bytes.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.from(common);
    if ((flags & 8) !== 0) local.fill(0, 10, 22);
    const after = (flags & 8) === 0 ? [] : [Buffer.from("PK\x07\x08"), common.subarray(10, 22)];
    const extra = unicodeName === undefined ? Buffer.alloc(0) : unicodePath(name, unicodeName);
    common.writeUInt16LE(extra.length, 24);
    const file = Buffer.concat([Buffer.from("PK\x03\x04"), local, Buffer.from(name), packed, ...after]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(mode * 0x10000, 6);
    rest.writeUInt32LE(offset, 10);
    directory.push(
      Buffer.concat([Buffer.from("PK\x01\x02"), Buffer.from([20, mode === 0 ? 0 : 3]), common, rest, Buffer.from(name), extra]),
    );
    files.push(file);
    offset += file.length;
  }
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(
    directory.reduce((sum, { length }) => sum + length, 0),
    12,
  );
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, ...directory, end]);
}

/** The extra field "Info-ZIP Unicode Path" (APPNOTE 4.6.9). */
function unicodePath(name: string, unicodeName: string): Buffer {
  const field = Buffer.alloc(9);
  field.writeUInt16LE(0x7075, 0);
  field.writeUInt16LE(5 + Buffer.byteLength(unicodeName), 2);
  field.writeUInt8(1, 4);
  field.writeUInt32LE(crc32(name), 5);
  return Buffer.concat([field, Buffer.from(unicodeName)]);
}

export async function tarGzOf(entries: readonly TarEntry[]): Promise<Buffer> {
  const archive = pack();
  for (const { name, content, link } of entries) {
    if (link !== undefined) archive.entry({ name, type: link.type, linkname: link.to });
    else archive.entry({ name }, Buffer.from(content as string));
  }
  archive.finalize();
  return gzipSync(await buffer(archive as unknown as AsyncIterable<Buffer>));
}

export interface PackageOptions {
  readonly name?: string;
  readonly version?: string;
  /** Lines of the metadata in addition to Metadata-Version, Name and Version. */
  readonly headers?: readonly string[];
  readonly description?: string;
  readonly code?: string;
  /** The tags in the name of a wheel, after an optional build tag. */
  readonly tags?: string;
  /** Lines of the WHEEL file in addition to Wheel-Version. By default, the tags of the name. */
  readonly wheel?: readonly string[];
}

export interface PythonFile {
  readonly fileName: string;
  readonly bytes: Buffer;
}

export function metadataText({ name = "demo", version = "1.0", headers = [], description = "" }: PackageOptions): string {
  return [`Metadata-Version: 2.1`, `Name: ${name}`, `Version: ${version}`, ...headers, "", description].join("\n");
}

export function wheelEntries(options: PackageOptions): ZipEntry[] {
  const { name = "demo", version = "1.0", code = "", tags = "py3-none-any", wheel = [`Tag: ${tags}`] } = options;
  const module = name.toLowerCase().replace(/[-.]/g, "_");
  const folder = `${module}-${version}.dist-info`;
  return [
    { name: `${module}/__init__.py`, content: code },
    { name: `${folder}/METADATA`, content: metadataText(options) },
    { name: `${folder}/WHEEL`, content: ["Wheel-Version: 1.0", ...wheel, ""].join("\n") },
    { name: `${folder}/RECORD`, content: "" },
  ];
}

export function wheel(options: PackageOptions = {}): PythonFile {
  const { name = "demo", version = "1.0", tags = "py3-none-any" } = options;
  const fileName = `${name.toLowerCase().replace(/[-.]/g, "_")}-${version}-${tags}.whl`;
  return { fileName, bytes: zipOf(wheelEntries(options)) };
}

export async function sdist(options: PackageOptions = {}): Promise<PythonFile> {
  const { name = "demo", version = "1.0" } = options;
  const folder = `${name.toLowerCase().replace(/[-.]/g, "_")}-${version}`;
  const entries = [
    { name: `${folder}/PKG-INFO`, content: metadataText(options) },
    { name: `${folder}/setup.py`, content: options.code ?? "" },
  ];
  return { fileName: `${folder}.tar.gz`, bytes: await tarGzOf(entries) };
}

export function sha256Of(bytes: string | Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const BOUNDARY = "test-boundary";
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** The form that twine sends: the fields, then the file. @param fields undefined values are left out */
export function formOf({ fileName, bytes }: PythonFile, fields: Readonly<Record<string, string | undefined>> = {}): Buffer {
  const all = { ":action": "file_upload", protocol_version: "1", sha256_digest: sha256Of(bytes), ...fields };
  const parts: Buffer[] = Object.entries(all)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`));
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="content"; filename="${fileName}"\r\n`;
  parts.push(Buffer.from(`${head}Content-Type: application/octet-stream\r\n\r\n`), bytes, Buffer.from(`\r\n--${BOUNDARY}--\r\n`));
  return Buffer.concat(parts);
}

export function upload(
  client: RegistryClient,
  owner: string,
  file: PythonFile,
  fields?: Readonly<Record<string, string | undefined>>,
): Promise<Answer> {
  const body = formOf(file, fields);
  return client.send("POST", `/libraries/python/${owner}/`, { headers: { "content-type": FORM_TYPE }, body });
}
