/** A Maven 2 repository of another server or of a client. The checksums and POMs next to a file must match the file. */
import { invalidArgument } from "../../lib/errors.ts";
import type { Digests } from "../find-file.ts";
import { assertChecksum, MAX_CHECKSUM, parseChecksum } from "../java/maven-checksum.ts";
import { ALGORITHMS, type MavenFile, mavenName, parseMavenFile, pathInArtifact, splitChecksum } from "../java/maven-path.ts";
import { readMavenFile } from "../java/read-maven-file.ts";
import { MAX_POM, readPom } from "../java/read-pom.ts";
import type { SourceTree } from "./source-tree.ts";
import type { TreeFormat } from "./tree-format.ts";

/** Files that servers and clients keep for themselves. The library generates its own metadata. */
const TOOL_FILES =
  /^(?:maven-metadata.*\.xml|_.*\.repositories|.*\.lastUpdated|m2e-lastUpdated\.properties|resolver-status\.properties|archetype-catalog\.xml|nexus-maven-repository-index.*|index\.html|robots\.txt|favicon\.ico)$/;
/** Checked POMs that are remembered for the other files of their version. */
const MAX_POMS = 256;

export function createMavenTree(remediatedLabels: readonly string[]): TreeFormat {
  const poms = new Map<string, Promise<void>>();
  return {
    async inspect(path, tree) {
      const segments = path.split("/");
      const { about, algorithm } = splitChecksum(segments.at(-1) ?? "");
      if (TOOL_FILES.test(about)) return undefined;
      if (algorithm !== undefined) return assertFileExists(path, about, tree);
      const file = parseMavenFile(segments);
      return {
        key: mavenName(file),
        path: pathInArtifact(file),
        async verify(digests) {
          await assertChecksums(path, digests, tree);
          await assertPom(path, file, tree);
        },
        read: (staged, context) => readMavenFile(staged, file, { ...context, remediatedLabels }),
      };
    },
  };

  /** The POM reveals a folder in the wrong place, whose files would be published under another name. */
  function assertPom(path: string, file: MavenFile, tree: SourceTree): Promise<void> {
    const pomPath = `${path.slice(0, -file.suffix.length)}.pom`;
    const known = poms.get(pomPath);
    if (known !== undefined) return known;
    const reading = checkPom(pomPath, file, tree);
    // Callers that await the promise get the error.
    reading.catch(() => {});
    poms.set(pomPath, reading);
    for (const oldest of poms.keys()) if (poms.size > MAX_POMS) poms.delete(oldest);
    return reading;
  }
}

async function checkPom(path: string, file: MavenFile, tree: SourceTree): Promise<void> {
  const bytes = await tree.readSmall(path, MAX_POM);
  if (bytes === undefined) return;
  const fileName = path.slice(path.lastIndexOf("/") + 1);
  readPom({ bytes, file: { ...file, fileName, suffix: ".pom" } });
}

async function assertChecksums(path: string, digests: Digests, tree: SourceTree): Promise<void> {
  for (const algorithm of ALGORITHMS) {
    const bytes = await tree.readSmall(`${path}.${algorithm}`, MAX_CHECKSUM);
    if (bytes !== undefined) assertChecksum(parseChecksum(bytes, algorithm), digests, algorithm, `the file's .${algorithm}`);
  }
}

/** A checksum is compared when its file is read. A checksum without a file means that the file is missing. */
async function assertFileExists(path: string, about: string, tree: SourceTree): Promise<undefined> {
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  if (!(await tree.has(folder + about))) throw invalidArgument("checksum", `the file ${about.slice(0, 255)} is missing`);
}
