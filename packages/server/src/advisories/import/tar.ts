/** The files in a tar archive, as imports read them: a file with a problem is reported and left out. */
import { buffer } from "node:stream/consumers";
import { escapesRoot } from "../../archives/entry-path.ts";
import { ArchiveError, ArchiveMeter } from "../../archives/limits.ts";
import { type TarHeader, tarEntries } from "../../archives/tar-entries.ts";
import { ESCAPING_PATH, type FileContext, IMPORT_LIMITS, type ImportFile, SMALL_FILE } from "./import-file.ts";

/** @param bytes uncompressed. @throws only if the source cannot be read */
export async function* filesInTar(bytes: AsyncIterable<Uint8Array>, name: string, context: FileContext): AsyncGenerator<ImportFile> {
  try {
    for await (const { header, content } of tarEntries(bytes, new ArchiveMeter(IMPORT_LIMITS, 0))) {
      const path = `${name}!${header.name.slice(0, 1000)}`;
      const problem = findProblem(header);
      if (problem !== undefined) context.report(path, problem);
      else if (header.type === "file") yield { name: path, content: await contentOf(header, content), isExplicit: false };
    }
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    context.report(name, `${error.message}; the rest is not read`);
  }
}

async function contentOf({ size = 0 }: TarHeader, content: AsyncIterable<Uint8Array>): Promise<ImportFile["content"]> {
  return size > SMALL_FILE ? content : buffer(content);
}

function findProblem({ name, type }: TarHeader): string | undefined {
  if (escapesRoot(name, IMPORT_LIMITS.paths)) return ESCAPING_PATH;
  if (type === "symlink" || type === "link") return "links are not followed";
  return type === "file" || type === "directory" ? undefined : `neither a file nor a folder (${type})`;
}
