/** PUT of a file, and of a checksum: which is compared with the file and not kept, since the database has it. */

import { allowLongBody } from "../../../http/body-time.ts";
import { type HttpRequest, isWhole } from "../../../http/http-exchange.ts";
import { readBody } from "../../../http/read-body.ts";
import { LibraryRefusal } from "../../http/error.ts";
import { answer, changeBy, type LibraryParts, type LibraryRequest } from "../../http/library-request.ts";
import type { Library } from "../../library.ts";
import { namingFile, publishStaged } from "../../publish-staged.ts";
import { MAX_FILE, type Staged } from "../../stage.ts";
import { findMavenFile } from "../find-maven.ts";
import { assertChecksum, parseChecksum } from "../maven-checksum.ts";
import { ALGORITHMS, type Algorithm, type MavenFile } from "../maven-path.ts";
import { mavenPublication } from "../maven-publication.ts";

export async function receiveFile(exchange: LibraryRequest, library: Library, file: MavenFile, parts: LibraryParts): Promise<void> {
  const { request } = exchange;
  const { staging, names } = parts;
  allowLongBody(request, parts.transferIdleMs);
  const staged = await staging.stage(request, MAX_FILE, () => isWhole(request));
  const read = async () => {
    assertSameAsAnnounced(request, staged);
    return namingFile(file.fileName, mavenPublication(staged, file, library, staging, names.profile.remediatedLabels));
  };
  const outcome = await publishStaged(staged, read, () => changeBy(exchange, parts), parts);
  answer(exchange, outcome === "created" ? 201 : 200);
}

/** Some clients say beforehand what is to arrive: then nothing else gets published. */
function assertSameAsAnnounced({ headers }: HttpRequest, staged: Staged): void {
  for (const algorithm of ALGORITHMS) {
    const announced = headers[`x-checksum-${algorithm}`];
    if (typeof announced === "string") assertChecksum(announced.trim().toLowerCase(), staged, algorithm);
  }
}

export async function checkChecksum(
  exchange: LibraryRequest,
  library: Library,
  path: MavenFile,
  algorithm: Algorithm,
  parts: LibraryParts,
): Promise<void> {
  const checksum = parseChecksum(await readWhole(exchange, parts), algorithm);
  const file = await findMavenFile(parts.store.reader, library, path);
  if (file === undefined) throw new LibraryRefusal(409, `${path.fileName} is not published: publish it before its checksums`);
  assertChecksum(checksum, file, algorithm, `${path.fileName}.${algorithm}`);
  answer(exchange, 200);
}

async function readWhole({ request }: LibraryRequest, { memory }: LibraryParts): Promise<Buffer> {
  const allowance = memory.allowKnown();
  try {
    return await readBody(request, allowance);
  } finally {
    allowance.release();
  }
}
