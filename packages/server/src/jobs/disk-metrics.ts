/** Reports the free space of the disks, and how much of it writes leave. */
import type { Meter } from "../lib/meter.ts";
import type { DiskFolder, DiskSpace } from "./disk-space.ts";

export function meterDiskSpace(disk: DiskSpace, meter: Meter): void {
  const labels = { folder: new Set<DiskFolder>(["data", "blobs"]) };
  const help = "Free space of the disk with the data folder, and with its folder of blobs if that is another disk.";
  meter.read({ type: "gauge", name: "holt_disk_free_bytes", help, labels }, async () =>
    (await disk.read()).map(({ folder, freeBytes }) => ({ value: freeBytes, labelValues: [folder] })),
  );
  const reserved = "Free space below which writes are refused: HOLT_MIN_FREE_DISK.";
  meter.read({ type: "gauge", name: "holt_disk_reserved_bytes", help: reserved }, () => [{ value: disk.minFreeBytes }]);
}
