/** Settings of advisories. */
import type { PublicOrganizations } from "../advisories/documents/publication.ts";
import { isInRoot, isUid } from "../lib/uid.ts";
import type { SettingGroup } from "./setting.ts";
import { HOUR_MS, parseDuration, parseInteger, parseList } from "./values.ts";

export const advisoriesSettings = {
  importMaxBytes: {
    env: "HOLT_IMPORT_MAX_BYTES",
    fallback: "2147483648",
    doc: "Largest file of advisories or vulnerability metadata that can be imported over the API or mirrored, in bytes. Files wait in the folder `imports` of the data folder, at most 8 per organization.",
    parse: parseInteger(1, 1_000_000_000_000),
  },
  mirrorTimeoutMs: {
    env: "HOLT_MIRROR_TIMEOUT",
    fallback: "30m",
    doc: "Time that fetching the feed of an advisory mirror may take, from the look-up of its name to the last byte.",
    parse: parseDuration(1, 24 * HOUR_MS),
  },
  publicAdvisories: {
    env: "HOLT_PUBLIC_ADVISORIES",
    fallback: "",
    fallbackDoc: "the organization that the first start created",
    doc: "Organizations whose approved advisories anyone may read without a token: comma-separated uids, `*` for all, or `none`.",
    parse: parsePublicOrganizations,
  },
} satisfies SettingGroup;

function parsePublicOrganizations(text: string): PublicOrganizations {
  if (text === "") return "first";
  if (text === "*") return "all";
  if (text === "none") return "none";
  const uids = parseList(text);
  if (uids.length === 0 || !uids.every((uid) => isUid(uid) && isInRoot(uid)))
    throw new Error("empty, *, none, or uids of organizations (40 of 0-9a-f each), separated by commas");
  return [...new Set(uids)];
}
