/** Makes the content of test images: layers, package databases and SBOMs. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { type Header, pack } from "tar-stream";

/** Path → content of a file, or the header of another entry; null for a folder. */
export type Entries = Readonly<Record<string, string | Buffer | Omit<Partial<Header>, "name"> | null>>;
export type Compression = "plain" | "gzip" | "zstd";

export async function layerOf(entries: Entries, compression: Compression = "gzip"): Promise<Buffer> {
  const archive = pack();
  for (const [name, content] of Object.entries(entries)) {
    if (content === null) archive.entry({ name, type: "directory" });
    else if (typeof content === "string" || Buffer.isBuffer(content)) archive.entry({ name }, content);
    else archive.entry({ name, ...content });
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  return compression === "plain" ? bytes : compression === "gzip" ? gzipSync(bytes) : zstdCompressSync(bytes);
}

export const APK = "lib/apk/db/installed";
export const DPKG = "var/lib/dpkg/status";
export const RPM = "var/lib/rpm/rpmdb.sqlite";

export function osRelease(id: string, version: string): string {
  return `NAME="Some ${id}"\nID=${id}\nVERSION_ID="${version}"\nPRETTY_NAME='${id} ${version}'\n`;
}

/** Each package is `name version` or `name version origin`. */
export function apkDatabase(...packages: readonly string[]): string {
  const records = packages.map((each) => {
    const [name, version, origin = name] = each.split(" ");
    return `C:Q1abc=\nP:${name}\nV:${version}\nA:x86_64\nS:10\nT:text: with colons\no:${origin}\nF:usr/bin\nR:${name}\na:0:0:755\n`;
  });
  return `${records.join("\n")}\n`;
}

/** Each package is `name version` or `name version source`. */
export function dpkgStatus(...packages: readonly string[]): string {
  const records = packages.map((each) => {
    const [name, version, source] = each.split(" ");
    const from = source === undefined ? "" : `Source: ${source} (${version}+src)\n`;
    return `Package: ${name}\nStatus: install ok installed\n${from}Architecture: amd64\nVersion: ${version}\nDescription: some words\n more words: here\n .\n`;
  });
  return records.join("\n");
}

const TAGS = { name: 1000, version: 1001, release: 1002, epoch: 1003, arch: 1022, sourceRpm: 1044 } as const;
export type RpmFields = Partial<Record<keyof typeof TAGS, string | number>>;

/** A package's header in RPM's database format. */
export function rpmHeader(fields: RpmFields): Buffer {
  const index: Buffer[] = [];
  const data: Buffer[] = [];
  let offset = 0;
  for (const [tag, value] of Object.entries(fields)) {
    const content = typeof value === "number" ? Buffer.from([value >>> 24, value >>> 16, value >>> 8, value]) : Buffer.from(`${value}\0`);
    const entry = Buffer.alloc(16);
    for (const [at, word] of [TAGS[tag as keyof typeof TAGS], typeof value === "number" ? 4 : 6, offset, 1].entries())
      entry.writeUInt32BE(word, 4 * at);
    index.push(entry);
    data.push(content);
    offset += content.length;
  }
  const head = Buffer.alloc(8);
  head.writeUInt32BE(index.length, 0);
  head.writeUInt32BE(offset, 4);
  return Buffer.concat([head, ...index, ...data]);
}

const RPM_SCHEMA = "CREATE TABLE 'Packages' (hnum INTEGER PRIMARY KEY AUTOINCREMENT, blob BLOB NOT NULL)";

/** An RPM database whose last package is only in its write-ahead log. */
export async function rpmDatabase(headers: readonly Uint8Array[], schema = RPM_SCHEMA): Promise<{ database: Buffer; log: Buffer }> {
  const folder = await mkdtemp(join(tmpdir(), "holt-test-rpm-"));
  try {
    const path = join(folder, "rpmdb.sqlite");
    using database = new DatabaseSync(path);
    database.exec("pragma journal_mode = wal");
    database.exec(schema);
    const insert = (header: Uint8Array) => database.prepare("insert into Packages (blob) values (?)").run(header);
    for (const header of headers.slice(0, -1)) insert(header);
    database.exec("pragma wal_checkpoint(truncate); pragma wal_autocheckpoint = 0");
    for (const header of headers.slice(-1)) insert(header);
    return { database: await readFile(path), log: await readFile(`${path}-wal`) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export function spdx(...purls: readonly string[]): string {
  const packages = purls.map((referenceLocator) => ({
    name: "any",
    externalRefs: [
      { referenceCategory: "SECURITY", referenceType: "cpe23Type", referenceLocator: "cpe:2.3:a:any" },
      { referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator },
    ],
  }));
  return JSON.stringify({ spdxVersion: "SPDX-2.3", SPDXID: "SPDXRef-DOCUMENT", packages });
}

/** A document whose first component contains the others. */
export function cycloneDx(first: string, ...purls: readonly string[]): string {
  const inner = purls.map((purl) => ({ type: "library", name: "any", purl }));
  const components = [{ type: "library", name: "any", purl: first, components: inner }];
  return JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", metadata: { component: { purl: "pkg:oci/image@1" } }, components });
}

export function statement(predicateType: string, predicate: unknown, ...digests: readonly string[]): string {
  const subject = digests.map((digest) => ({ name: "image", digest: { sha256: digest.slice("sha256:".length) } }));
  return JSON.stringify({ _type: "https://in-toto.io/Statement/v1", subject, predicateType, predicate });
}

export function envelope(payload: string): string {
  return JSON.stringify({ payloadType: "application/vnd.in-toto+json", payload: Buffer.from(payload).toString("base64"), signatures: [] });
}
