/** Opens the target of backups that an operator names. */
import { resolve } from "node:path";
import type { BlobSettings } from "../blobs/blob-settings.ts";
import { parseS3Target, type S3Location } from "../blobs/s3/s3-location.ts";
import { openFolderTarget } from "./folder-target.ts";
import type { BackupTarget, TargetUse } from "./target.ts";

type S3Settings = Pick<BlobSettings, "s3Endpoint" | "s3Region" | "s3PathStyle">;

/** The place that the name of a target means. */
export type TargetLocation = { readonly folder: string } | { readonly s3: S3Location };

/**
 * @param name a folder, or `s3://bucket/prefix`. The settings of S3 hold unless the name has its own, as in
 * `s3://bucket/prefix?endpoint=https://s3.example.com&region=eu&path-style=on`
 * @throws Error for the operator
 */
export function parseTarget(name: string, settings: S3Settings): TargetLocation {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//.exec(name)?.[1];
  if (scheme === undefined) return { folder: resolve(name) };
  const { s3Endpoint: endpoint, s3Region: region, s3PathStyle: pathStyle } = settings;
  const s3 = parseS3Target(name, { endpoint, region, pathStyle });
  if (s3 !== undefined) return { s3 };
  throw new Error(
    `"${name}" is neither a folder nor s3://bucket/prefix, with ?endpoint=URL&region=NAME&path-style=on after it where needed`,
  );
}

/** @throws Error for the operator, also for a missing folder to read from */
export async function openTarget(location: TargetLocation, use: TargetUse): Promise<BackupTarget> {
  if ("folder" in location) return openFolderTarget(location.folder, use);
  const { openS3Target } = await import("./s3-target.ts");
  return openS3Target(location.s3);
}
