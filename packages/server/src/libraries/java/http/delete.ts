/** Deletes a file, or a version with all of its files. Checksums and metadata follow, because they are computed on request. */
import { answer, changeBy, type LibraryParts, type LibraryRequest } from "../../http/library-request.ts";
import type { Library } from "../../library.ts";
import { type RemovalOptions, removeFiles } from "../../remove.ts";
import { type MavenFile, mavenName, parseMavenFolder, pathInArtifact } from "../maven-path.ts";
import { isMavenPreRelease } from "../maven-version.ts";

export async function deleteFile(exchange: LibraryRequest, library: Library, file: MavenFile, parts: LibraryParts): Promise<void> {
  await removeFiles({ library, key: mavenName(file) }, { path: pathInArtifact(file) }, changeBy(exchange, parts), optionsOf(parts));
  answer(exchange, 204);
}

/** @param segments of the version's folder */
export async function deleteVersion(
  exchange: LibraryRequest,
  library: Library,
  segments: readonly string[],
  parts: LibraryParts,
): Promise<void> {
  const folder = parseMavenFolder(segments);
  await removeFiles({ library, key: mavenName(folder) }, { version: folder.version }, changeBy(exchange, parts), optionsOf(parts));
  answer(exchange, 204);
}

function optionsOf({ store }: LibraryParts): RemovalOptions {
  return { store, isPreRelease: isMavenPreRelease };
}
