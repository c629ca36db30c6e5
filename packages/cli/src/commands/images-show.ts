/** holt images show: the platforms, sizes, tags, packages and vulnerabilities of an image. */
import type { Invocation } from "../command/invocation.ts";
import type { Verb } from "../command/verb.ts";
import { type FoundImage, findImage, IMAGE_HELP, namesOfTags, pathOfImage } from "../images/image-reference.ts";
import { isMissing, readScans, textOfPlatforms } from "../images/platforms.ts";
import { formatBytes } from "../output/human.ts";

const SEVERITIES = ["CRITICAL", "HIGH", "MEDIUM", "LOW", "NEGLIGIBLE", "UNKNOWN"];

export const verb: Verb = {
  path: "images show",
  summary: "Show an image: its digest, tags, platforms, sizes, packages and open vulnerabilities.",
  description: "Sizes are compressed. Without the rights to list vulnerabilities, their numbers are left out.",
  examples: ["holt images show my-org/team-a/app:1.0", "holt images show app -o json"],
  arguments: [{ name: "image", kind: "repo", help: IMAGE_HELP }],
  async run(invocation) {
    const image = await findImage(invocation.argument("image"), invocation);
    const [tags, { platforms, scans, isComplete }, sizes, vulnerabilities] = await Promise.all([
      namesOfTags(image.repo, image.digest, invocation),
      readScans(image, invocation),
      readSizes(image, invocation),
      countVulnerabilities(image, invocation),
    ]);
    const packages = scans.reduce((sum, { packageCount = 0 }) => sum + packageCount, 0);
    const distributions = [...new Set(scans.flatMap(({ distribution }) => distribution || []))];
    const row = { repo: image.repo, digest: image.digest, tags, platforms, sizes, distributions, packages, complete: isComplete };
    const columns = [
      ...["repo", "digest", "tags"],
      { title: "PLATFORMS", value: () => textOfPlatforms(platforms) },
      { title: "SIZES", value: () => sizes.map(({ architecture, size }) => `${architecture} ${formatBytes(size)}`).join(", ") },
      ...["distributions", "packages"],
      { title: "VULNERABILITIES", value: () => textOfCounts(vulnerabilities) },
    ];
    await invocation.output.row({ ...row, ...(vulnerabilities && { vulnerabilities }) }, { columns, name: () => image.digest });
    if (!isComplete) process.stderr.write("The server is still reading the packages; the numbers will change.\n");
  },
};

/** By architecture; none for an artifact that is not an image. */
async function readSizes({ repo, digest }: FoundImage, { session, signal }: Invocation) {
  const base = `/registry/v2/repos/${repo}/digests/${digest}`;
  const get = (path: string, query = {}) => session().rest.call({ method: "GET", path: `${base}/${path}`, query, signal });
  const answer = await get("architectures").catch((error) => {
    if (isMissing(error)) return {};
    throw error;
  });
  const { architectures = [] } = answer as { architectures?: string[] };
  const known = architectures.filter((architecture) => architecture !== "");
  const sizes = await Promise.all(known.map((architecture) => get("size", { architecture })));
  return known.map((architecture, index) => ({ architecture, size: Number((sizes[index] as { size?: string }).size ?? 0) }));
}

type Counts = Readonly<Record<string, number>>;

/** Open vulnerabilities by severity; undefined without the rights. */
async function countVulnerabilities(image: FoundImage, { session, signal }: Invocation): Promise<Counts | undefined> {
  const path = `${pathOfImage(image)}/vulnerabilities`;
  const count = async (severity: string) => {
    const query = { severities: `VULNERABILITY_SEVERITY_${severity}`, state: "STATE_OPEN", page_size: "1" };
    const answer = (await session().rest.call({ method: "GET", path, query, signal })) as { totalCount?: string };
    return [severity.toLowerCase(), Number(answer.totalCount ?? 0)] as const;
  };
  try {
    return Object.fromEntries(await Promise.all(SEVERITIES.map(count)));
  } catch (error) {
    if ((error as { code?: string }).code === "PERMISSION_DENIED") return undefined;
    throw error;
  }
}

function textOfCounts(counts: Counts | undefined): string {
  if (counts === undefined) return "";
  const found = Object.entries(counts).filter(([, count]) => count > 0);
  return found.length === 0 ? "none" : found.map(([severity, count]) => `${count} ${severity}`).join(", ");
}
