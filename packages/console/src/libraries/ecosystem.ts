/** The ecosystems of libraries, as the screens show them. */
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";

export interface EcosystemView {
  readonly value: Ecosystem;
  /** Part of the addresses of its repositories, and of the address of the screen. */
  readonly path: "python" | "java";
  readonly title: string;
  /** Capability for publishing. */
  readonly publish: string;
}

const PYTHON: EcosystemView = { value: Ecosystem.PYTHON, path: "python", title: "Python", publish: "libraries.python.create" };
const JAVA: EcosystemView = { value: Ecosystem.JAVA, path: "java", title: "Java", publish: "libraries.java.create" };
export const ecosystems: readonly EcosystemView[] = [PYTHON, JAVA];

/** @param wanted a path or a value; Python for everything else */
export function ecosystemView(wanted: string | Ecosystem | undefined): EcosystemView {
  return ecosystems.find(({ path, value }) => path === wanted || value === wanted) ?? PYTHON;
}

/** Path of a repository on this server, by uid: names can be ambiguous. */
export function repositoryPath({ path }: EcosystemView, group: string): string {
  return `/libraries/${path}/${group.replaceAll("/", ":")}/`;
}

export function sizeText(bytes: bigint | number): string {
  return new Intl.NumberFormat("en", { notation: "compact", style: "unit", unit: "byte", unitDisplay: "narrow" }).format(bytes);
}
