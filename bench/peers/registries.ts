/** Starts the other registries that are on the PATH. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../packages/server/test/harness/free-port.ts";
import { createRegistryClient } from "../../packages/server/test/harness/registry/registry-client.ts";
import { makeFolder, type Registry, registryOf } from "../registry/servers.ts";
import { startPeer } from "./process.ts";
import { type PeerName, programOf } from "./programs.ts";

export type RegistryName = PeerName & ("Distribution" | "zot");

export interface PeerRegistry extends Registry {
  readonly label: RegistryName;
}

export interface PeerRegistries extends AsyncDisposable {
  readonly peers: readonly PeerRegistry[];
}

/** Neither asks for a password. */
const CONFIGURATIONS = {
  /** As its Debian package: it caches descriptors, and logs requests. */
  Distribution: (folder: string, port: number) => ({
    version: 0.1,
    log: { level: "info", accesslog: { disabled: false } },
    storage: { cache: { blobdescriptor: "inmemory" }, filesystem: { rootdirectory: folder }, delete: { enabled: true } },
    http: { addr: `127.0.0.1:${port}` },
  }),
  /** Syncs its files, as Holt does; that is not the default. */
  zot: (folder: string, port: number) => ({
    distSpecVersion: "1.1.1",
    storage: { rootDirectory: folder, commit: true },
    http: { address: "127.0.0.1", port: String(port) },
    log: { level: "info" },
  }),
} as const;

export async function startPeerRegistries(): Promise<PeerRegistries> {
  await using cleanUp = new AsyncDisposableStack();
  const peers: PeerRegistry[] = [];
  for (const label of ["Distribution", "zot"] as const) {
    const program = programOf(label);
    if (program !== undefined) peers.push(cleanUp.use(await startRegistry(label, program)));
  }
  const owned = cleanUp.move();
  return { peers, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function startRegistry(label: RegistryName, program: string): Promise<PeerRegistry> {
  await using cleanUp = new AsyncDisposableStack();
  const data = cleanUp.use(await makeFolder(label));
  const settings = cleanUp.use(await makeFolder(`${label}-settings`));
  const port = await freePort();
  // JSON is valid YAML.
  const path = join(settings.path, "config.json");
  await writeFile(path, JSON.stringify(CONFIGURATIONS[label](data.path, port)));
  const { pid } = cleanUp.use(await startPeer({ program, args: ["serve", path], port, path: "/v2/" }));
  const client = cleanUp.use(createRegistryClient(`http://127.0.0.1:${port}`, undefined));
  const registry = { port, pid, client, name: "my-org/team/app", authorization: undefined, folder: data.path };
  return { ...registryOf(registry, cleanUp.move()), label };
}
