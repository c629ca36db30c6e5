/** Measures the download of a large wheel by one client and by many, compared with a bare file server. */
import { randomBytes } from "node:crypto";
import { sha256Of, upload, wheelEntries, zipOf } from "../../packages/server/test/harness/libraries/python-packages.ts";
import type { StoreName } from "../data/stores.ts";
import { comparePulls } from "../registry/pull.ts";
import { startEmptyHolt } from "../registry/servers.ts";
import type { Line } from "../report.ts";

const SIZE = 100_000_000;

export async function libraryDownload(store: StoreName): Promise<Line[]> {
  await using holt = await startEmptyHolt(store);
  const bytes = zipOf([...wheelEntries({}), { name: "demo/weights.bin", content: randomBytes(SIZE) }]);
  const fileName = "demo-1.0-py3-none-any.whl";
  const owner = holt.name.split("/")[0] ?? "";
  const { status, body } = await upload(holt.client, owner, { fileName, bytes });
  if (status !== 200) throw new Error(`uploading the wheel failed with ${status}: ${body}`);
  const path = `/libraries/python/${owner}/files/${sha256Of(bytes)}/${fileName}`;
  return await comparePulls("Download of a wheel of 100 MB", store, bytes, { registry: holt, path });
}
