/** Reads the platform from the config of an image. Pure. */
import type { Platform } from "./manifest.ts";

/** Limit of a config that is read. A larger blob is not an image's config. */
export const MAX_CONFIG_BYTES = 1024 * 1024;

/** The platform in the config of an image; undefined if the blob is not such a config. */
export function platformOfConfig(content: Uint8Array): Platform | undefined {
  try {
    const { architecture, os, variant = "" } = JSON.parse(Buffer.from(content).toString("utf8")) as Record<string, unknown>;
    if (typeof architecture !== "string" || architecture === "" || typeof os !== "string" || typeof variant !== "string") return undefined;
    if ([architecture, os, variant].some((text) => text.includes("\0"))) return undefined;
    return isUnknown(architecture) ? undefined : { architecture, os, variant };
  } catch {
    return undefined;
  }
}

/** Builders attach attestations to an index as images of the platform `unknown`. */
function isUnknown(architecture: string): boolean {
  return architecture === "unknown";
}
