/** Makes a publication of a file in the Maven layout. POMs and the jars of plugins are read as well, and must belong to their path. */
import { buffer } from "node:stream/consumers";
import { invalidArgument } from "../../lib/errors.ts";
import { mavenSortKey } from "../../lib/version-order/maven.ts";
import type { Publication, ReadingContext } from "../publication.ts";
import type { Staged, Staging } from "../stage.ts";
import { type MavenFile, mavenName, pathInArtifact } from "./maven-path.ts";
import { isOfPlugin, type MavenFileMetadata, type MavenPlugin } from "./maven-plugins.ts";
import { isMavenPreRelease, isRemediatedMavenVersion } from "./maven-version.ts";
import { pluginParser } from "./plugin-parser.ts";
import { pomParser } from "./pom-parser.ts";
import { MAX_POM, type Pom } from "./read-pom.ts";

/** @throws INVALID_ARGUMENT */
export async function readMavenFile(staged: Staged, file: MavenFile, context: ReadingContext): Promise<Publication> {
  const { library, remediatedLabels } = context;
  const pom = file.suffix === ".pom" ? await readPom(staged, file, context) : undefined;
  const plugin = file.suffix === ".jar" ? await readPlugin(staged, file, context) : undefined;
  const metadata: MavenFileMetadata = {
    ...(pom !== undefined && { packaging: pom.packaging }),
    ...(plugin !== undefined && { plugin }),
  };
  const name = mavenName(file);
  const { version } = file;
  return {
    library,
    name,
    key: name,
    version: {
      text: version,
      sortKey: mavenSortKey(version),
      isPreRelease: isMavenPreRelease(version),
      description: pom?.description ?? "",
      cudaVersion: undefined,
      isRemediated: isRemediatedMavenVersion(version, remediatedLabels),
    },
    path: pathInArtifact(file),
    metadata: { ...metadata },
    isPlugin: isOfPlugin(metadata),
  };
}

async function readPom(staged: Staged, file: MavenFile, { staging, parsers, publisher }: ReadingContext): Promise<Pom> {
  return parsers.run(pomParser, { bytes: await readWhole(staged, staging), file }, publisher);
}

function readPlugin(staged: Staged, file: MavenFile, { staging, parsers, publisher }: ReadingContext): Promise<MavenPlugin | undefined> {
  return staging.withFile(staged, (jar) => parsers.run(pluginParser, { jar, file }, publisher));
}

async function readWhole(staged: Staged, staging: Pick<Staging, "read">): Promise<Buffer> {
  if (staged.size > MAX_POM) throw invalidArgument("pom", `the POM is larger than ${MAX_POM} bytes`);
  return staged.size === 0 ? Buffer.alloc(0) : buffer(await staging.read(staged));
}
