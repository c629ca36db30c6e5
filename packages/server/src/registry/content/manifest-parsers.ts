/** The readers of manifests and of the configs of images, as parsers. Small ones, which is nearly all, are read at once. */
import { defineParser } from "../../jobs/parsers.ts";
import { platformOfConfig } from "./config-platform.ts";
import type { Platform } from "./manifest.ts";
import { type ManifestFile, type ReadManifest, readManifest } from "./read-manifest.ts";

/** Both readers are linear, and take two milliseconds for this size. */
const MAX_AT_ONCE = 32 * 1024;
/** A manifest of the maximum size takes a quarter of it. */
const CPU_MS = 2000;
const common = { pool: "documents", cpuMs: () => CPU_MS, field: "" } as const;

export const manifestParser = defineParser<ManifestFile, ReadManifest>({
  ...common,
  module: new URL("./read-manifest.ts", import.meta.url),
  name: "readManifest",
  content: "the manifest",
  atOnce: { isSmall: ({ content }) => content.length <= MAX_AT_ONCE, parse: readManifest },
});

export const configParser = defineParser<Uint8Array, Platform | undefined>({
  ...common,
  module: new URL("./config-platform.ts", import.meta.url),
  name: "platformOfConfig",
  content: "the config of the image",
  atOnce: { isSmall: (content) => content.length <= MAX_AT_ONCE, parse: platformOfConfig },
});
