/** Says where a bucket is and how requests reach it. */

export interface S3Location {
  readonly bucket: string;
  /** Empty, or a path that ends with a slash. */
  readonly prefix: string;
  /** URL of the service; empty for AWS, or what the environment of the SDK says. */
  readonly endpoint: string;
  /** Empty for what the environment of the SDK says. */
  readonly region: string;
  /** Puts the bucket into the path of URLs instead of their host. */
  readonly pathStyle: boolean;
}

const URL_FORM = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9!_.*'()/-]*))?$/;

/** @param url `s3://bucket/prefix` @returns undefined if it is malformed */
export function parseS3Url(url: string): Pick<S3Location, "bucket" | "prefix"> | undefined {
  const match = URL_FORM.exec(url);
  if (match === null) return undefined;
  const [, bucket = "", path = ""] = match;
  const folders = path.split("/").filter((folder) => folder !== "");
  if (folders.some((folder) => folder === "." || folder === "..")) return undefined;
  return { bucket, prefix: folders.map((folder) => `${folder}/`).join("") };
}

const PARAMETERS = ["endpoint", "region", "path-style"];

/**
 * @param text `s3://bucket/prefix`, with the parameters `endpoint`, `region` and `path-style` (on or off)
 * @param defaults what holds without a parameter
 * @returns undefined if it is malformed
 */
export function parseS3Target(text: string, defaults: Pick<S3Location, "endpoint" | "region" | "pathStyle">): S3Location | undefined {
  const [url = "", query = ""] = text.split("?", 2);
  const place = parseS3Url(url);
  const given = new URLSearchParams(query);
  const pathStyle = given.get("path-style");
  const endpoint = URL.parse(given.get("endpoint") ?? "https://none")?.protocol ?? "";
  if (place === undefined || [...given.keys()].some((name) => !PARAMETERS.includes(name))) return undefined;
  if (!/^https?:$/.test(endpoint) || (pathStyle !== null && !/^(on|off)$/.test(pathStyle))) return undefined;
  return {
    ...place,
    endpoint: given.get("endpoint") ?? defaults.endpoint,
    region: given.get("region") ?? defaults.region,
    pathStyle: pathStyle === null ? defaults.pathStyle : pathStyle === "on",
  };
}
