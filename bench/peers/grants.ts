/** Measures issuing tokens: Holt's exchange of a third-party token, and Keycloak's client-credentials grant. */
import { freePort } from "../../packages/server/test/harness/free-port.ts";
import { compare } from "../compare.ts";
import { makeScratchGroup, removeScratchGroup } from "../data/scratch.ts";
import type { StoreName } from "../data/stores.ts";
import { makeExchanges } from "../parts/exchange.ts";
import type { BareServer } from "../process.ts";
import { residentMb } from "../process.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { serve } from "../servers.ts";
import { latencyAndCpu, peerLines } from "./line.ts";
import { startPeer } from "./process.ts";
import { programOf } from "./programs.ts";

const CLIENT = { id: "bench", secret: "bench-secret" };

export async function grants(store: StoreName): Promise<Line[]> {
  const program = programOf("Keycloak");
  if (program === undefined) return [];
  const holt = await serve(store);
  await using cleanUp = new AsyncDisposableStack();
  const group = await makeScratchGroup(holt);
  cleanUp.defer(() => removeScratchGroup(holt, group));
  const { exchanges } = cleanUp.use(await makeExchanges(holt, group));
  const keycloak = cleanUp.use(await startKeycloak(program));
  const { connections } = scale;
  const requests = exchanges.map(({ path, authorization }) => holt.request("POST", path, "", { authorization }));
  const [own, other] = await compare("http1", [
    { pid: holt.server.pid, load: { port: holt.server.port, connections, requests } },
    { pid: keycloak.pid, load: { port: keycloak.port, connections, requests: [grantRequest(keycloak.port)] } },
  ]);
  const memory = `${short(await residentMb(holt.server.pid))} MB; of Keycloak ${short(await residentMb(keycloak.pid))} MB`;
  return peerLines({
    measured: "Token exchange, and a client-credentials grant",
    store,
    holt: own!,
    figure: `${latencyAndCpu(own!)}, resident memory ${memory}`,
    peers: [{ name: "Keycloak", rate: other! }],
    least: {},
  });
}

/** A new server in development mode, with its database in memory and one client in its first realm. */
async function startKeycloak(program: string): Promise<BareServer> {
  const port = await freePort();
  return startPeer({
    program,
    args: ["start-dev", "--db", "dev-mem", "--http-host", "127.0.0.1", "--http-port", String(port)],
    port,
    path: "/realms/master",
    env: { KC_BOOTSTRAP_ADMIN_CLIENT_ID: CLIENT.id, KC_BOOTSTRAP_ADMIN_CLIENT_SECRET: CLIENT.secret },
  });
}

function grantRequest(port: number): string {
  const body = String(new URLSearchParams({ grant_type: "client_credentials", client_id: CLIENT.id, client_secret: CLIENT.secret }));
  const lines = [
    "POST /realms/master/protocol/openid-connect/token HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    "content-type: application/x-www-form-urlencoded",
    `content-length: ${body.length}`,
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`).toString("base64");
}
