/** Receives files and checksums by PUT. A checksum is only compared with its file: the database has it already. */
import { allowLongBody } from "../../../http/body-time.ts";
import { type HttpRequest, isWhole } from "../../../http/http-exchange.ts";
import { readBody } from "../../../http/read-body.ts";
import { LibraryRefusal } from "../../http/error.ts";
import { answer, changeBy, type LibraryParts, type LibraryRequest, readingContext } from "../../http/library-request.ts";
import type { Library } from "../../library.ts";
import { publishStaged, withFileName } from "../../publish-staged.ts";
import { MAX_FILE, type Staged } from "../../stage.ts";
import { findMavenFile } from "../find-maven.ts";
import { assertChecksum, parseChecksum } from "../maven-checksum.ts";
import { ALGORITHMS, type MavenChecksum, type MavenFile } from "../maven-path.ts";
import { readMavenFile } from "../read-maven-file.ts";

export async function receiveFile(exchange: LibraryRequest, library: Library, file: MavenFile, parts: LibraryParts): Promise<void> {
  const { request } = exchange;
  const { staging } = parts;
  allowLongBody(request, parts.transferIdleMs);
  const staged = await exchange.transfer(() => staging.stage(request, MAX_FILE, () => isWhole(request)));
  const context = readingContext(library, exchange, parts);
  const read = async () => {
    assertAnnouncedChecksums(request, staged);
    return withFileName(file.fileName, readMavenFile(staged, file, context));
  };
  const outcome = await publishStaged(staged, read, () => changeBy(exchange, parts), parts);
  answer(exchange, outcome === "created" ? 201 : 200);
}

/** Some clients announce checksums in headers. A file that differs is refused. */
function assertAnnouncedChecksums({ headers }: HttpRequest, staged: Staged): void {
  for (const algorithm of ALGORITHMS) {
    const announced = headers[`x-checksum-${algorithm}`];
    if (typeof announced === "string") assertChecksum(announced.trim().toLowerCase(), staged, algorithm);
  }
}

export async function checkChecksum(
  exchange: LibraryRequest,
  library: Library,
  { file, algorithm }: MavenChecksum,
  parts: LibraryParts,
): Promise<void> {
  const checksum = parseChecksum(await readWhole(exchange, parts), algorithm);
  const published = await findMavenFile(parts.store.reader, library, file);
  if (published === undefined) throw new LibraryRefusal(409, `${file.fileName} is not published: publish it before its checksums`);
  assertChecksum(checksum, published, algorithm, `${file.fileName}.${algorithm}`);
  answer(exchange, 200);
}

async function readWhole({ request, response, transfer }: LibraryRequest, { memory }: LibraryParts): Promise<Buffer> {
  const allowance = memory.allowKnown(response.answer);
  try {
    return await transfer(async () => readBody(request, allowance));
  } finally {
    allowance.release();
  }
}
