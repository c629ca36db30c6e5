/** From a file of the Maven layout to what is published of it. A POM tells more, and must be the POM of where it is put; so do the jars of plugins. */
import { buffer } from "node:stream/consumers";
import { invalidArgument } from "../../lib/errors.ts";
import { mavenSortKey } from "../../lib/version-order/maven.ts";
import type { Library } from "../library.ts";
import { stagedBytes } from "../package-archive.ts";
import type { Publication } from "../publish.ts";
import type { Staged, Staging } from "../stage.ts";
import { type MavenFile, mavenName, pathInArtifact } from "./maven-path.ts";
import { isOfPlugin, type MavenFileMetadata } from "./maven-plugins.ts";
import { isMavenPreRelease, isRemediatedMavenVersion } from "./maven-version.ts";
import { readPlugin } from "./read-plugin.ts";
import { MAX_POM, readPom } from "./read-pom.ts";

/**
 * @param remediatedLabels beginnings of qualifiers of versions in which vulnerabilities were patched
 * @throws INVALID_ARGUMENT
 */
export async function mavenPublication(
  staged: Staged,
  file: MavenFile,
  library: Library,
  staging: Pick<Staging, "read">,
  remediatedLabels: readonly string[],
): Promise<Publication> {
  const pom = file.suffix === ".pom" ? readPom(await readWhole(staged, staging), file) : undefined;
  const plugin = file.suffix === ".jar" ? await readPlugin(stagedBytes(staged, staging), file) : undefined;
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

async function readWhole(staged: Staged, staging: Pick<Staging, "read">): Promise<Buffer> {
  if (staged.size > MAX_POM) throw invalidArgument("pom", `it is larger than ${MAX_POM} bytes`);
  return staged.size === 0 ? Buffer.alloc(0) : buffer(await staging.read(staged));
}
