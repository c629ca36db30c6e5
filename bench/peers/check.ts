/** Measures authorization: `Check` of peers, and a Get of Holt, which also verifies a token and reads the group. */
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { scale } from "../scale.ts";
import { serve } from "../servers.ts";
import { type CheckPeer, postJson } from "./check-peer.ts";
import { latencyAndCpu, peerLines } from "./line.ts";
import { startOpenFga } from "./openfga.ts";
import { programOf } from "./programs.ts";
import { startSpiceDb } from "./spicedb.ts";
import { readTree, type Tree } from "./tree.ts";

export async function checks(store: StoreName): Promise<Line[]> {
  if (programOf("OpenFGA") === undefined && programOf("SpiceDB") === undefined) return [];
  const holt = await serve(store);
  const tree = await readTree(holt);
  await using cleanUp = new AsyncDisposableStack();
  const peers = await startPeers(tree, cleanUp);
  const gets = tree.checks.map(({ identity, uid }) =>
    holt.request("GET", `/iam/v2/groups/${uid}`, undefined, { authorization: `Bearer ${tree.tokens.get(identity)}` }),
  );
  const { connections } = scale;
  const contenders = [{ pid: holt.server.pid, load: { port: holt.server.port, connections, requests: gets } }];
  for (const peer of peers) contenders.push(await contenderOf(peer, connections));
  const [own, ...others] = await compare("http1", contenders);
  return peerLines({
    measured: `Authorization by a binding of ${holt.contents.groups} groups: REST Get, and Check`,
    store,
    holt: own!,
    figure: latencyAndCpu(own!),
    peers: peers.map(({ label }, i) => ({ name: label, rate: others[i]! })),
    least: {},
  });
}

async function startPeers(tree: Tree, cleanUp: AsyncDisposableStack): Promise<CheckPeer[]> {
  const [openFga, spiceDb] = [programOf("OpenFGA"), programOf("SpiceDB")];
  const peers: CheckPeer[] = [];
  if (openFga !== undefined)
    for (const engine of ["memory", "sqlite"] as const) peers.push(cleanUp.use(await startOpenFga(openFga, engine, tree)));
  if (spiceDb !== undefined) peers.push(cleanUp.use(await startSpiceDb(spiceDb, tree)));
  return peers;
}

async function contenderOf({ port, pid, path, authorization, bodies, isAllowed, label }: CheckPeer, connections: number) {
  const answer = await postJson(port, path, bodies[0] ?? {}, authorization);
  if (!isAllowed(answer)) throw new Error(`${label} denies: ${JSON.stringify(answer)}`);
  const requests = bodies.map((body) => {
    const text = JSON.stringify(body);
    const lines = [`POST ${path} HTTP/1.1`, `host: 127.0.0.1:${port}`, "content-type: application/json", `content-length: ${text.length}`];
    if (authorization !== undefined) lines.push(`authorization: ${authorization}`);
    return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${text}`).toString("base64");
  });
  return { pid, load: { port, connections, requests } };
}
