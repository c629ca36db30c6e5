/** A repository in the layout of Maven 2, of another server or of a client. Checksums and POMs that lie beside a file must be right. */
import { invalidArgument } from "../../lib/errors.ts";
import type { Digests } from "../find-file.ts";
import { assertChecksum, MAX_CHECKSUM, parseChecksum } from "../java/maven-checksum.ts";
import { ALGORITHMS, checksumOf, type MavenFile, mavenName, parseMavenFile, pathInArtifact } from "../java/maven-path.ts";
import { mavenPublication } from "../java/maven-publication.ts";
import { MAX_POM, readPom } from "../java/read-pom.ts";
import type { SourceTree } from "./source-tree.ts";
import type { TreeFormat } from "./tree-format.ts";

/** What servers and clients keep in their folders for themselves. The library makes its own metadata of what is published. */
const OF_TOOLS =
  /^(?:maven-metadata.*\.xml|_.*\.repositories|.*\.lastUpdated|m2e-lastUpdated\.properties|resolver-status\.properties|archetype-catalog\.xml|nexus-maven-repository-index.*|index\.html|robots\.txt|favicon\.ico)$/;
/** POMs whose files come one after the other. */
const MAX_POMS = 256;

export function createMavenTree(remediatedLabels: readonly string[]): TreeFormat {
  const poms = new Map<string, Promise<void>>();
  return {
    async inspect(path, tree) {
      const segments = path.split("/");
      const { about, algorithm } = checksumOf(segments.at(-1) ?? "");
      if (OF_TOOLS.test(about)) return undefined;
      if (algorithm !== undefined) return assertSomethingBeside(path, about, tree);
      const file = parseMavenFile(segments);
      return {
        key: mavenName(file),
        path: pathInArtifact(file),
        async verify(digests) {
          await assertChecksums(path, digests, tree);
          await assertPom(path, file, tree);
        },
        read: (staged, library, staging) => mavenPublication(staged, file, library, staging, remediatedLabels),
      };
    },
  };

  /** A folder that does not lie where it belongs would put files under another name, if their POM were not asked. */
  function assertPom(path: string, file: MavenFile, tree: SourceTree): Promise<void> {
    const pomPath = `${path.slice(0, -file.suffix.length)}.pom`;
    const known = poms.get(pomPath);
    if (known !== undefined) return known;
    const reading = readPomBeside(pomPath, file, tree);
    // Whoever waits for it is told.
    reading.catch(() => {});
    poms.set(pomPath, reading);
    for (const oldest of poms.keys()) if (poms.size > MAX_POMS) poms.delete(oldest);
    return reading;
  }
}

async function readPomBeside(path: string, file: MavenFile, tree: SourceTree): Promise<void> {
  const bytes = await tree.readSmall(path, MAX_POM);
  if (bytes === undefined) return;
  const fileName = path.slice(path.lastIndexOf("/") + 1);
  readPom(bytes, { ...file, fileName, suffix: ".pom" });
}

async function assertChecksums(path: string, digests: Digests, tree: SourceTree): Promise<void> {
  for (const algorithm of ALGORITHMS) {
    const bytes = await tree.readSmall(`${path}.${algorithm}`, MAX_CHECKSUM);
    if (bytes !== undefined) assertChecksum(parseChecksum(bytes, algorithm), digests, algorithm, `the .${algorithm} beside it`);
  }
}

/** A checksum is compared when its file is read; one without a file says that something is missing. */
async function assertSomethingBeside(path: string, about: string, tree: SourceTree): Promise<undefined> {
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  if (!(await tree.has(folder + about))) throw invalidArgument("checksum", `there is no ${about.slice(0, 255)} beside it`);
}
