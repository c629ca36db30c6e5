/** The programs of other projects that Holt is compared with, and which of them are on the PATH. */
import { hasProgram } from "../../packages/server/test/harness/has-program.ts";
import type { StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";

/** Names under which each peer's program is installed. */
const PROGRAMS = {
  Distribution: ["docker-registry", "registry"],
  zot: ["zot", "zot-minimal"],
  OpenFGA: ["openfga"],
  SpiceDB: ["spicedb"],
  Keycloak: ["kc.sh"],
  pypiserver: ["pypi-server"],
} as const;

export type PeerName = keyof typeof PROGRAMS;

/** Undefined if the peer is not on the PATH. */
export function programOf(peer: PeerName): string | undefined {
  return PROGRAMS[peer].find(hasProgram);
}

/** One line for each peer that is not on the PATH. */
export async function missingPeers(store: StoreName): Promise<Line[]> {
  return (Object.keys(PROGRAMS) as PeerName[]).flatMap((peer) => {
    if (programOf(peer) !== undefined) return [];
    return [{ measured: peer, store, figure: `not on the PATH: ${PROGRAMS[peer].join(" or ")}` }];
  });
}
