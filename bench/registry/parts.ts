/** The registry benchmarks, by their names on the command line. */
import type { StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { collection } from "./collection.ts";
import { registryLists } from "./lists.ts";
import { manifestGet } from "./manifest.ts";
import { blobPull } from "./pull.ts";
import { blobPush } from "./push.ts";
import { tagPage } from "./tags.ts";

export const registryParts: Readonly<Record<string, (store: StoreName) => Promise<Line[]>>> = {
  "registry-manifest": manifestGet,
  "registry-pull": blobPull,
  "registry-push": blobPush,
  "registry-tags": tagPage,
  "registry-lists": registryLists,
  "registry-collection": collection,
};
