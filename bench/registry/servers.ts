/** Starts the servers to compare: an empty Holt, and a bare file server. peers/registries.ts starts other registries. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createRegistryClient, MANIFEST, type RegistryClient } from "../../packages/server/test/harness/registry/registry-client.ts";
import { databaseOn, folder, type StoreName } from "../data/stores.ts";
import { type BareServer, startHolt, stop } from "../process.ts";

/** A registry under test, with a client to prepare its content. */
export interface Registry extends BareServer {
  readonly client: RegistryClient;
  /** Name of the measured repository. */
  readonly name: string;
  readonly authorization: string | undefined;
  /** Folder of its data. */
  readonly folder: string;
}

/** Creates a folder on the same disk as the other databases, because the temporary folder may be in memory. */
export async function makeFolder(name: string): Promise<AsyncDisposable & { readonly path: string }> {
  await mkdir(folder, { recursive: true });
  const path = await mkdtemp(join(folder, `${name}-`));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Starts a server with one organization and a group for the measured repository. The client has the owner's token. */
export async function startEmptyHolt(store: StoreName): Promise<Registry> {
  await using cleanUp = new AsyncDisposableStack();
  const data = cleanUp.use(await makeFolder("holt"));
  const url = await databaseOn(store, "bench_registry");
  const server = cleanUp.use(await startHolt({ url, dataDir: data.path }));
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const authorization = `Bearer ${server.token}`;
  const makeGroup = async (parent: string, name: string) => {
    const headers = { authorization, "content-type": "application/json" };
    const response = await fetch(`${baseUrl}/iam/v2/groups/${parent}`, { method: "POST", headers, body: JSON.stringify({ name }) });
    return ((await response.json()) as { uid: string }).uid;
  };
  const groups = await fetch(`${baseUrl}/iam/v2/groups?uidp.in_root=true`, { headers: { authorization } });
  const { uid = "", name = "" } = ((await groups.json()) as { groups: { uid: string; name: string }[] }).groups[0] ?? {};
  await makeGroup(uid, "team");
  const client = cleanUp.use(createRegistryClient(baseUrl, authorization));
  return registryOf(
    { port: server.port, pid: server.pid, client, name: `${name}/team/app`, authorization, folder: data.path },
    cleanUp.move(),
  );
}

export function registryOf(registry: Omit<Registry, keyof AsyncDisposable>, owned: AsyncDisposableStack): Registry {
  return { ...registry, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

export async function startStatic(path: string): Promise<BareServer> {
  const child = fork(join(import.meta.dirname, "static-server.ts"));
  child.send({ folder: path });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return { port, pid: child.pid ?? 0, [Symbol.asyncDispose]: () => stop(child) };
}

/** A base64-encoded request for the load generator. */
export function requestTo({ port, authorization }: Pick<Registry, "port" | "authorization">, method: string, path: string): string {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    ...(authorization === undefined ? [] : [`authorization: ${authorization}`]),
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\naccept: ${MANIFEST}\r\n\r\n`).toString("base64");
}
