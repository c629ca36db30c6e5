/** Settings of the container registry. */
import { isInRoot, isUid } from "../lib/uid.ts";
import { PULL_RECORDINGS, type PullRecording, type PullRecordings } from "../registry/content/pull-recording.ts";
import type { SettingGroup } from "./setting.ts";
import { HOUR_MS, orZero, parseDuration, parseList, parseSwitch } from "./values.ts";

export const registrySettings = {
  gcGraceMs: {
    env: "HOLT_GC_GRACE",
    fallback: "24h",
    doc: "Retention of blobs, untagged manifests and interrupted uploads that no image needs, such as `24h`, `30m` or `10s`. It must exceed the duration of any push: blobs of a push are needed only once its manifest arrives.",
    parse: orZero(parseDuration(0, 10 * 365 * 24 * HOUR_MS)),
  },
  /** 0 for never. */
  gcIntervalMs: {
    env: "HOLT_GC_INTERVAL",
    fallback: "1h",
    doc: "Pause between two garbage collections, such as `1h`. `0` leaves collection to the command `holtd gc`. Servers that share a PostgreSQL take turns, and must share the folder `blobs`, too.",
    parse: orZero(parseDuration(1000, 20 * 24 * HOUR_MS)),
  },
  pullEvents: {
    env: "HOLT_PULL_EVENTS",
    fallback: "manifests",
    doc: "Events of pulls from the container registry: `blobs` (one for each manifest and each blob), `manifests` (one for each manifest), `hourly` (one per hour for all pulls of a manifest under the same tag by an identity) or `off`. Entries `uid=blobs`, separated by commas, set it for an organization: `hourly,0123…cdef=blobs`.",
    parse: parsePullRecordings,
  },
  registryCreateFolders: {
    env: "HOLT_REGISTRY_CREATE_FOLDERS",
    fallback: "off",
    doc: "Whether a push to a repository below folders that do not exist creates them, if the caller may create groups there: `on` or `off`. A push never creates an organization.",
    parse: parseSwitch,
  },
  publicContent: {
    env: "HOLT_PUBLIC_CONTENT",
    fallback: "on",
    doc: "Whether owners may make groups and repositories public, so that anybody can pull from them without a login: `on` or `off`. While it is `off`, nothing is public, and the settings of owners are kept.",
    parse: parseSwitch,
  },
  imagePackages: {
    env: "HOLT_IMAGE_PACKAGES",
    fallback: "on",
    doc: "Whether this server reads the packages of pushed images, in the background and one image at a time: `on` or `off`. Images that were pushed while no server did so are read later.",
    parse: parseSwitch,
  },
  sigstoreTrustedRoot: {
    env: "HOLT_SIGSTORE_TRUSTED_ROOT",
    fallback: "",
    doc: "Path of a `trusted_root.json`: the certificate authorities and logs that keyless signatures are verified with. Empty verifies signatures by keys only. Read at the start.",
    parse: (text) => text,
  },
} satisfies SettingGroup;

function parsePullRecordings(text: string): PullRecordings {
  const form = `${PULL_RECORDINGS.join(", ")}, and entries uid=${PULL_RECORDINGS[0]} for organizations, separated by commas`;
  const recordingFrom = (word: string): PullRecording => {
    const found = PULL_RECORDINGS.find((recording) => recording === word);
    if (found === undefined) throw new Error(form);
    return found;
  };
  const entries = parseList(text);
  const general = entries.filter((entry) => !entry.includes("="));
  if (general.length > 1) throw new Error(form);
  const exceptions = entries
    .filter((entry) => entry.includes("="))
    .map((entry): [string, PullRecording] => {
      const [uid = "", word = ""] = entry.split("=", 2);
      if (!isUid(uid) || !isInRoot(uid)) throw new Error(form);
      return [uid, recordingFrom(word)];
    });
  return { general: recordingFrom(general[0] ?? "manifests"), exceptions: new Map(exceptions) };
}
