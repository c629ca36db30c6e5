/** PUT of a file, and of a checksum: which is compared with the file and not kept, since the database has it. */
import { Code, HoltError, invalidArgument } from "../../../lib/errors.ts";
import { checksumOfFile, findMavenFile } from "../../../libraries/find-maven.ts";
import type { Library } from "../../../libraries/library.ts";
import { ALGORITHMS, type Algorithm, type MavenFile } from "../../../libraries/maven-path.ts";
import { mavenPublication } from "../../../libraries/maven-publication.ts";
import { publish } from "../../../libraries/publish.ts";
import type { Staged } from "../../../libraries/stage.ts";
import { allowLongBody } from "../../body-time.ts";
import type { HttpRequest } from "../../http-exchange.ts";
import { readBody } from "../../read-body.ts";
import { LibraryRefusal } from "../error.ts";
import { answer, type LibraryParts, type LibraryRequest } from "../library-request.ts";

/** Whoever has larger ones has no packages. */
const MAX_FILE = 16 * 1024 ** 3;
const LENGTHS: Readonly<Record<Algorithm, number>> = { md5: 32, sha1: 40, sha256: 64, sha512: 128 };
const MAX_CHECKSUM = 1024;

export async function receiveFile(exchange: LibraryRequest, library: Library, file: MavenFile, parts: LibraryParts): Promise<void> {
  const { request, origin } = exchange;
  const { staging, names, clock } = parts;
  allowLongBody(request, parts.transferIdleMs);
  const staged = await staging.stage(request, MAX_FILE, () => isWhole(request));
  let isPublished = false;
  try {
    assertSameAsAnnounced(request, staged);
    const publication = await mavenPublication(staged, file, library, staging, names.profile.remediatedLabels).catch((error: unknown) => {
      throw error instanceof HoltError ? new HoltError(error.code, `${error.message} (${file.fileName})`, error.details) : error;
    });
    const outcome = await publish(staged, publication, origin, clock.now(), parts);
    isPublished = true;
    answer(exchange, outcome === "created" ? 201 : 200);
  } finally {
    await staging.discard(staged, isPublished);
  }
}

/** A request of HTTP/2 that broke off is called complete, too. */
function isWhole(request: HttpRequest): boolean {
  return request.complete && !request.aborted;
}

/** Some clients say beforehand what is to arrive: then nothing else gets published. */
function assertSameAsAnnounced({ headers }: HttpRequest, staged: Staged): void {
  for (const algorithm of ALGORITHMS) {
    const announced = headers[`x-checksum-${algorithm}`];
    if (typeof announced === "string") assertSame(announced.trim().toLowerCase(), checksumOfFile(staged, algorithm), algorithm);
  }
}

export async function checkChecksum(
  exchange: LibraryRequest,
  library: Library,
  path: MavenFile,
  algorithm: Algorithm,
  parts: LibraryParts,
): Promise<void> {
  const checksum = parseChecksum(await readText(exchange, parts), algorithm);
  const file = await findMavenFile(parts.store.reader, library, path);
  if (file === undefined) throw new LibraryRefusal(409, `${path.fileName} is not published: publish it before its checksums`);
  assertSame(checksum, checksumOfFile(file, algorithm), `${path.fileName}.${algorithm}`);
  answer(exchange, 200);
}

async function readText({ request }: LibraryRequest, { memory }: LibraryParts): Promise<string> {
  const allowance = memory.allowCaller();
  try {
    const body = await readBody(request, allowance);
    if (body.length > MAX_CHECKSUM) throw invalidArgument("checksum", `it is longer than ${MAX_CHECKSUM} bytes`);
    return body.toString("latin1");
  } finally {
    allowance.release();
  }
}

/** By itself, before the name of the file, or after it, as the usual programs write it. */
function parseChecksum(text: string, algorithm: Algorithm): string {
  const words = text.trim().toLowerCase().split(/\s+/);
  const isChecksum = (word: string | undefined) => word?.length === LENGTHS[algorithm] && /^[0-9a-f]+$/.test(word);
  const checksum = [words[0], words.at(-1)].find(isChecksum);
  if (checksum === undefined) throw invalidArgument("checksum", `it is no ${algorithm} in hexadecimal digits`);
  return checksum;
}

function assertSame(said: string, actual: string, what: string): void {
  if (said !== actual)
    throw new HoltError(Code.INVALID_ARGUMENT, `Invalid argument: ${what} is "${said.slice(0, 128)}", and of the file that came ${actual}`);
}
