/** Measures index pages of Python projects in Holt, which authorizes them, and in pypiserver. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../packages/server/test/harness/free-port.ts";
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { serveCatalogue } from "../libraries/catalogue.ts";
import { makeFolder } from "../registry/servers.ts";
import type { Line } from "../report.ts";
import { scale } from "../scale.ts";
import { latencyAndCpu, peerLines } from "./line.ts";
import { startPeer } from "./process.ts";
import { programOf } from "./programs.ts";

const VERSIONS = Array.from({ length: 10 }, (_, i) => `1.${i}`);

export async function simplePages(store: StoreName): Promise<Line[]> {
  const program = programOf("pypiserver");
  if (program === undefined) return [];
  await using cleanUp = new AsyncDisposableStack();
  const holt = await serveCatalogue(store);
  cleanUp.use(holt.server);
  const { projects, artifacts } = holt.contents;
  const files = cleanUp.use(await makeFolder("wheels"));
  // The peer has only the projects that are asked for, because it keeps no index of its files.
  for (const { name } of projects)
    for (const version of VERSIONS) await writeFile(join(files.path, `${name.replaceAll("-", "_")}-${version}-py3-none-any.whl`), "");
  const port = await freePort();
  const args = ["run", "--port", String(port), "--interface", "127.0.0.1", "--disable-fallback", files.path];
  const peer = cleanUp.use(await startPeer({ program, args, port, path: "/health" }));
  const { connections } = scale;
  const own = { authorization: `Bearer ${holt.server.token}`, accept: "text/html" };
  const pages = projects.map(({ name }) => holt.request("GET", `/libraries/python/bench/simple/${name}/`, undefined, own));
  const theirs = projects.map(({ name }) => holt.request("GET", `/simple/${name}/`, undefined, { accept: "text/html" }));
  const [figures, others] = await compare("http1", [
    { pid: holt.server.pid, load: { port: holt.server.port, connections, requests: pages } },
    { pid: peer.pid, load: { port, connections, requests: theirs } },
  ]);
  return peerLines({
    measured: `Simple index pages of ${projects.length} projects, of ${artifacts} artifacts in Holt`,
    store,
    holt: figures!,
    figure: latencyAndCpu(figures!),
    peers: [{ name: "pypiserver", rate: others! }],
    least: {},
  });
}
