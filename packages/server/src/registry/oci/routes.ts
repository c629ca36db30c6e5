/** Parses the paths of the registry (distribution specification 1.1, "Endpoints"). Pure. */
import { OciError } from "../oci-error.ts";

export type Route =
  | { readonly kind: "base" }
  | { readonly kind: "catalog" }
  | { readonly kind: "manifest"; readonly name: string; readonly reference: string }
  | { readonly kind: "blob"; readonly name: string; readonly digest: string }
  | { readonly kind: "uploads"; readonly name: string }
  | { readonly kind: "upload"; readonly name: string; readonly upload: string }
  | { readonly kind: "tags"; readonly name: string }
  | { readonly kind: "referrers"; readonly name: string; readonly digest: string }
  | { readonly kind: "history"; readonly name: string; readonly tag: string };

/** A repository name may contain segments such as `blobs`, so the patterns match from the end of the path. */
const PATTERNS: readonly (readonly [RegExp, (name: string, last: string) => Route])[] = [
  [/^(.+)\/blobs\/uploads\/?$/, (name) => ({ kind: "uploads", name })],
  [/^(.+)\/blobs\/uploads\/([^/]+)$/, (name, upload) => ({ kind: "upload", name, upload })],
  [/^(.+)\/blobs\/([^/]+)$/, (name, digest) => ({ kind: "blob", name, digest })],
  [/^(.+)\/manifests\/([^/]+)$/, (name, reference) => ({ kind: "manifest", name, reference })],
  [/^(.+)\/tags\/list$/, (name) => ({ kind: "tags", name })],
  [/^(.+)\/referrers\/([^/]+)$/, (name, digest) => ({ kind: "referrers", name, digest })],
];

/**
 * @param path after `/v2`, without its query
 * @param historySegments the segments that may precede `/history/{tag}`
 * @returns undefined for an unknown path
 * @throws OciError NAME_INVALID for a malformed percent-encoding
 */
export function routeOf(path: string, historySegments: readonly string[]): Route | undefined {
  if (path === "" || path === "/") return { kind: "base" };
  const text = decode(path.slice(1));
  if (text.includes("\0")) throw new OciError("NAME_INVALID", "the path must not contain NUL");
  // No name of a repository begins with `_`.
  if (text === "_catalog") return { kind: "catalog" };
  const history = /^(.+)\/([^/]+)\/history\/([^/]+)$/.exec(text);
  if (history !== null && historySegments.includes(history[2] ?? ""))
    return { kind: "history", name: history[1] ?? "", tag: history[3] ?? "" };
  for (const [pattern, make] of PATTERNS) {
    const match = pattern.exec(text);
    if (match !== null) return make(match[1] ?? "", match[2] ?? "");
  }
  return undefined;
}

/** Some clients encode the colon of a digest. Nothing else in these paths needs encoding. */
function decode(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch (error) {
    throw new OciError("NAME_INVALID", "the path has a malformed percent-encoding", undefined, { cause: error });
  }
}
