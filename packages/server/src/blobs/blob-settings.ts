/** Settings that say where blobs are. They load no store, so that a server without S3 does not load its client. */
import { parseS3Url, type S3Location } from "./s3/s3-location.ts";

/** The data folder, or a bucket. */
export type BlobPlaceSetting = "folder" | Pick<S3Location, "bucket" | "prefix">;

export interface BlobRedirect {
  readonly isOn: boolean;
  /** Endpoint in the URLs; empty for that of the server. */
  readonly endpoint: string;
}

export interface BlobSettings {
  readonly dataDir: string;
  readonly blobs: BlobPlaceSetting;
  readonly blobsFallback: BlobPlaceSetting | undefined;
  readonly blobsRedirect: BlobRedirect;
  readonly s3Endpoint: string;
  readonly s3Region: string;
  readonly s3PathStyle: boolean;
}

/** @throws Error that continues "must be …" */
export function parseBlobPlace(text: string): BlobPlaceSetting {
  if (text === "folder") return text;
  const location = parseS3Url(text);
  if (location === undefined) throw new Error("folder, or s3://bucket/prefix");
  return location;
}

/** @throws Error that continues "must be …" */
export function parseRedirect(text: string): BlobRedirect {
  if (text === "on" || text === "off") return { isOn: text === "on", endpoint: "" };
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== "/" || `${url.search}${url.hash}${url.username}` !== "")
    throw new Error("on, off, or the URL of an endpoint without a path, such as https://s3.example.com");
  return { isOn: true, endpoint: url.origin };
}
