/** Parses the paths below `/holt/v1/feeds/`. Pure. */

import { isUid } from "../../../lib/uid.ts";
import { advisoryIdFromOsv } from "../../model/osv-id.ts";
import { type FeedFormat, feedFormats } from "../feed-format.ts";

export const FEEDS_PATH = "/holt/v1/feeds/";

export type FeedPath =
  | { readonly kind: "list"; readonly group: string }
  | { readonly kind: "feed"; readonly group: string; readonly format: FeedFormat }
  | { readonly kind: "record"; readonly group: string; readonly format: FeedFormat; readonly id: string };

/** An advisory id may be any string. The uid of a group and the names of files have a fixed form. */
const PATH = /^([0-9a-f]{40}(?:\/[0-9a-f]{16})*)(?:\/(?:([a-z]+)\/(.+)|([a-z.]+)))?$/s;

/** Slashes of uids may be percent-encoded. @returns undefined for an unknown path */
export function parseFeedPath(path: string): FeedPath | undefined {
  const [, group = "", folder, file, name] = PATH.exec(decode(path.slice(FEEDS_PATH.length)) ?? "") ?? [];
  if (!isUid(group)) return undefined;
  if (name !== undefined)
    return withFormat(
      (format) => format.file === name,
      (format) => ({ kind: "feed", group, format }),
    );
  if (folder === undefined || file === undefined) return { kind: "list", group };
  if (!file.endsWith(".json") || file === ".json") return undefined;
  return withFormat(
    (format) => format.layout.kind === "archive" && format.name === folder,
    (format) => ({ kind: "record", group, format, id: advisoryIdOf(format, file.slice(0, -".json".length)) }),
  );
}

/** OSV records have ids of their own, see osv-id.ts. */
function advisoryIdOf({ name }: FeedFormat, recordId: string): string {
  return name === "osv" ? advisoryIdFromOsv(recordId) : recordId;
}

function withFormat(isMeant: (format: FeedFormat) => boolean, path: (format: FeedFormat) => FeedPath): FeedPath | undefined {
  const format = feedFormats.find(isMeant);
  return format === undefined ? undefined : path(format);
}

function decode(text: string): string | undefined {
  try {
    const path = decodeURIComponent(text);
    return /\p{Cc}/u.test(path) ? undefined : path;
  } catch {
    return undefined;
  }
}
