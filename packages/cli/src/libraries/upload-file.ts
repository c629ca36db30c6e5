/** Publishes one file of a package, and reports its bytes as they leave. */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { Readable } from "node:stream";
import type { Rest } from "@holt/client/rest";
import type { PackageFile } from "./package-files.ts";

export interface UploadOptions {
  readonly rest: Rest;
  /** uid of the group that owns the library. */
  readonly group: string;
  /** JSON of the statements of PEP 740; Python only. */
  readonly attestations?: string | undefined;
  readonly onBytes: (count: number) => void;
  readonly signal: AbortSignal;
}

export type Outcome = "published" | "unchanged";

export async function uploadFile(file: PackageFile, options: UploadOptions): Promise<Outcome> {
  const sha256 = await digestOf(file.path, options.signal);
  return file.ecosystem === "python" ? uploadPython(file, sha256, options) : uploadJava(file, sha256, options);
}

/** The server reads name and version from the package itself. */
async function uploadPython({ path }: PackageFile, sha256: string, options: UploadOptions): Promise<Outcome> {
  const { rest, group, attestations, signal } = options;
  const boundary = `holt-${randomUUID()}`;
  const fields = { ":action": "file_upload", protocol_version: "1", sha256_digest: sha256, ...(attestations && { attestations }) };
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const fileName = basename(path).replace(/["\r\n]/g, "_");
  const disposition = `Content-Disposition: form-data; name="content"; filename="${fileName}"`;
  const head = `${parts.join("")}--${boundary}\r\n${disposition}\r\nContent-Type: application/octet-stream\r\n\r\n`;
  const body = streamOf(path, options, { head, tail: `\r\n--${boundary}--\r\n` });
  const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
  const url = `/libraries/python/${ownerOf(group)}/`;
  const answer = await rest.fetch({ method: "POST", path: url, headers, body, signal, timeoutMs: Number.POSITIVE_INFINITY });
  return (await answer.text()).startsWith("Published") ? "published" : "unchanged";
}

async function uploadJava({ path, place = "" }: PackageFile, sha256: string, options: UploadOptions): Promise<Outcome> {
  const { rest, group, signal } = options;
  const url = `/libraries/java/${ownerOf(group)}/${place.split("/").map(encodeURIComponent).join("/")}`;
  const headers = { "content-type": "application/octet-stream", "x-checksum-sha256": sha256 };
  const body = streamOf(path, options, { head: "", tail: "" });
  const answer = await rest.fetch({ method: "PUT", path: url, headers, body, signal, timeoutMs: Number.POSITIVE_INFINITY });
  await answer.body?.cancel();
  return answer.status === 201 ? "published" : "unchanged";
}

/** Files `*.publish.attestation` next to a package, which sigstore's tools write. @returns undefined if there is none */
export async function readAttestation(path: string): Promise<string | undefined> {
  try {
    return `[${await readFile(`${path}.publish.attestation`, "utf8")}]`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** URLs of libraries separate the segments with colons. */
function ownerOf(group: string): string {
  return group.replaceAll("/", ":");
}

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { signal })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

function streamOf(
  path: string,
  { onBytes, signal }: UploadOptions,
  { head, tail }: { readonly head: string; readonly tail: string },
): ReadableStream<Uint8Array> {
  async function* chunks() {
    if (head !== "") yield Buffer.from(head);
    for await (const chunk of createReadStream(path, { signal })) {
      onBytes((chunk as Buffer).length);
      yield chunk as Buffer;
    }
    if (tail !== "") yield Buffer.from(tail);
  }
  return Readable.toWeb(Readable.from(chunks(), { objectMode: false })) as ReadableStream<Uint8Array>;
}
