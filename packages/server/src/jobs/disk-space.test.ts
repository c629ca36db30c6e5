import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, stat, statfs, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createLog } from "../lib/log.ts";
import { DiskSpace, type DiskSpaceOptions } from "./disk-space.ts";

const log = createLog("silent");
/** Usually a disk of its own. */
const OTHER_DISK = "/dev/shm";

async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

async function withFolder(run: (path: string) => Promise<void>): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), "holt-disk-"));
  try {
    await run(path);
  } finally {
    await rm(path, { recursive: true });
  }
}

async function foldersOf(folders: DiskSpaceOptions["folders"]): Promise<string[]> {
  await using space = await DiskSpace.start({ folders, minFreeBytes: 0, log });
  return (await space.read()).map(({ folder }) => folder);
}

test("the free space of a disk is read once, and a folder that does not exist is left out", () =>
  withFolder(async (path) => {
    const [data, blobs] = [path, join(path, "blobs")];
    assert.deepEqual(await foldersOf({ data, blobs }), ["data"]);
    await mkdir(blobs);
    assert.deepEqual(await foldersOf({ data, blobs }), ["data"]);
  }));

test("too little space on the disk of the blobs alone refuses writes", (context) =>
  withFolder(async (path) => {
    const other = await stat(OTHER_DISK).catch(() => undefined);
    if (other === undefined || other.dev === (await stat(path)).dev) return context.skip(`${OTHER_DISK} is not another disk`);
    const elsewhere = await mkdtemp(join(OTHER_DISK, "holt-disk-"));
    try {
      // A link to a folder of another disk is a common way to move the blobs.
      const link = join(path, "blobs");
      await symlink(elsewhere, link);
      const [here, there] = [await freeBytes(path), await freeBytes(link)];
      const folders = there < here ? { data: path, blobs: link } : { data: link, blobs: path };
      assert.deepEqual(await foldersOf(folders), ["data", "blobs"]);
      await using enough = await DiskSpace.start({ folders, minFreeBytes: 1, log });
      enough.assertFor();
      const minFreeBytes = Math.floor((here + there) / 2);
      await using low = await DiskSpace.start({ folders, minFreeBytes, log });
      assert.throws(() => low.assertFor(), /the server's disk is nearly full/);
      assert.match(low.problem() ?? "", /nearly full/);
      await using onlyData = await DiskSpace.start({ folders: { data: folders.data }, minFreeBytes, log });
      onlyData.assertFor();
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  }));
