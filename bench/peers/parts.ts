/** The comparisons with other programs, by their names on the command line. */
import type { StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { checks } from "./check.ts";
import { grants } from "./grants.ts";
import { missingPeers } from "./programs.ts";
import { simplePages } from "./simple-pages.ts";

export const peerParts: Readonly<Record<string, (store: StoreName) => Promise<Line[]>>> = {
  "peer-programs": missingPeers,
  "peer-check": checks,
  "peer-grant": grants,
  "peer-simple": simplePages,
};

/** Parts of the registry that compare Holt with the other registries on the PATH. */
export const PEER_REGISTRY_PARTS = ["registry-manifest", "registry-tags", "registry-pull", "registry-push"];
