/** Starts the archive of the write-ahead log that HOLT_WAL_ARCHIVE names. */
import type { BlobSettings } from "../../blobs/blob-settings.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Meter } from "../../lib/meter.ts";
import type { WalArchiver } from "./wal-archiver.ts";

export interface WalArchiveSettings extends BlobSettings {
  /** A folder or `s3://bucket/prefix`; empty for no archive. */
  readonly walArchive: string;
  readonly walArchiveRetentionMs: number;
}

export interface WalArchiveParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly version: string;
  /** Number of migrations. */
  readonly schema: number;
}

/** Archives until it is disposed. @throws Error for the operator if the folder cannot be used */
export async function startWalArchive(settings: WalArchiveSettings, parts: WalArchiveParts): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const { store, meter, ...rest } = parts;
  if (store.wal !== undefined) {
    const { dataDir, walArchive, walArchiveRetentionMs: retentionMs } = settings;
    // Most servers archive nothing, and start without this code.
    const { openTarget, parseTarget } = await import("../open-target.ts");
    const { WalArchiver } = await import("./wal-archiver.ts");
    const target = stack.use(await openTarget(parseTarget(walArchive, settings), "write"));
    meterArchive(stack.use(await WalArchiver.start({ ...rest, target, wal: store.wal, dataDir, retentionMs })), meter);
  }
  return stack.move();
}

function meterArchive(archiver: WalArchiver, meter: Meter): void {
  const gauge = (name: string, help: string, value: () => number | undefined) =>
    meter.read({ type: "gauge", name, help }, () => {
      const found = value();
      return found === undefined ? [] : [{ value: found }];
    });
  gauge("holt_wal_archive_lag_seconds", "Age of the oldest transaction of SQLite that the archive cannot restore.", () =>
    archiver.lagSeconds(),
  );
  gauge("holt_wal_archive_base_timestamp_seconds", "When the newest copy of the database in the archive was made.", () =>
    archiver.baseSeconds(),
  );
  const help = "Failed attempts to archive transactions of SQLite.";
  meter.read({ type: "counter", name: "holt_wal_archive_failures_total", help }, () => [{ value: archiver.failures }]);
}
