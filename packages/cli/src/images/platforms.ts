/** The images of a digest, one per platform. */
import type { Row } from "../output/output.ts";
import { type Caller, type FoundImage, pathOfImage } from "./image-reference.ts";

export interface Platform {
  /** Such as linux/arm64; empty if the image does not state one. */
  readonly platform: string;
  readonly digest: string;
}

export interface Scan extends Platform {
  readonly imageDigest: string;
  readonly state: string;
  readonly distribution?: string;
  readonly packageCount?: number;
  readonly error?: string;
}

export interface Scans {
  readonly platforms: readonly Platform[];
  readonly scans: readonly Scan[];
  /** False until the server has read the packages. */
  readonly isComplete: boolean;
}

/** Rejects with NOT_FOUND if the repository does not have the digest. */
export async function readScans(image: Pick<FoundImage, "repo" | "digest">, { session, signal }: Caller): Promise<Scans> {
  const request = { method: "GET", path: `${pathOfImage(image)}/packages`, query: { page_size: "1" }, signal };
  return scansOf((await session().rest.call(request)) as Row);
}

export function scansOf(answer: Row): Scans {
  const scans = ((answer.scans as Scan[] | undefined) ?? []).map((scan) => ({ ...scan, platform: scan.platform ?? "" }));
  const platforms = scans.filter(({ digest, imageDigest }) => digest === imageDigest);
  const isComplete = answer.state !== "STATE_PENDING";
  return { scans, isComplete, platforms: platforms.map(({ platform, digest }) => ({ platform, digest })) };
}

/** `linux/amd64 sha256:…` for each, as one text. */
export function textOfPlatforms(platforms: readonly Platform[]): string {
  return platforms.map(({ platform, digest }) => `${platform || "unknown"} ${digest}`).join(", ");
}

export function isMissing(error: unknown): boolean {
  return (error as { code?: string } | null)?.code === "NOT_FOUND";
}
