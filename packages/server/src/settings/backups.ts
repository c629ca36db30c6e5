/** Settings of backups and of the archive of SQLite's write-ahead log. */
import { resolve } from "node:path";
import { parseS3Target } from "../blobs/s3/s3-location.ts";
import type { SettingGroup } from "./setting.ts";
import { HOUR_MS, parseDuration } from "./values.ts";

export const backupsSettings = {
  /** A folder or `s3://bucket/prefix`; empty for no archive. */
  walArchive: {
    env: "HOLT_WAL_ARCHIVE",
    fallback: "",
    fallbackDoc: "none",
    doc: "SQLite only: folder on another disk, or `s3://bucket/prefix`, to which the server copies every change within a second, so that `holtd restore --at` can restore the database of any second. Each installation needs its own. See [operating](operating.md#point-in-time-recovery).",
    parse: parseTargetName,
  },
  walArchiveRetentionMs: {
    env: "HOLT_WAL_ARCHIVE_RETENTION",
    fallback: "168h",
    doc: "How far back `holtd restore --at` can go, such as `168h`. Older changes are removed from HOLT_WAL_ARCHIVE.",
    parse: parseDuration(HOUR_MS, 10 * 365 * 24 * HOUR_MS),
  },
  /** Empty to leave the secrets key out of backups. */
  backupPassphrase: {
    env: "HOLT_BACKUP_PASSPHRASE",
    fallback: "",
    isSecret: true,
    doc: "Passphrase with which `holtd backup` seals the secrets key, and `holtd restore` opens it. Empty leaves the key out of backups: keep a copy of it elsewhere. `holtd export` seals the secrets of an organization with it, and `holtd import org` opens them.",
    parse: (text) => text,
  },
} satisfies SettingGroup;

/** A target of backups: a folder, which becomes absolute, or `s3://bucket/prefix`. */
function parseTargetName(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//.test(text)) return text === "" ? "" : resolve(text);
  if (parseS3Target(text, { endpoint: "", region: "", pathStyle: false }) === undefined) throw new Error("a folder, or s3://bucket/prefix");
  return text;
}
