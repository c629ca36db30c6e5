/** Measures token exchange: verifying a third-party token, matching its claims, issuing a token and recording the last use. */
import { startIssuer } from "../../packages/server/test/harness/oidc-issuer.ts";
import { compare } from "../compare.ts";
import { makeScratchGroup, removeScratchGroup } from "../data/scratch.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { serve } from "../servers.ts";

const IDENTITIES = 50;
const TOKENS = 500;
const MIN_PER_SECOND = 500;

export async function exchange(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const group = await makeScratchGroup(holt);
  try {
    await using issuer = await startIssuer();
    const uids: string[] = [];
    for (let i = 0; i < IDENTITIES; i++) {
      const identity = { name: `workload-${i}`, claimMatch: { issuer: issuer.issuer, subject: `workload-${i}`, audience: "holt" } };
      uids.push((JSON.parse(await holt.fetch("POST", `/iam/v2/identities/${group}`, JSON.stringify(identity))) as { uid: string }).uid);
    }
    const requests: string[] = [];
    for (let i = 0; i < TOKENS; i++) {
      const token = await issuer.sign({ sub: `workload-${i % IDENTITIES}`, aud: "holt", jti: String(i) });
      const path = `/sts/exchange?identity=${uids[i % IDENTITIES]}`;
      requests.push(holt.request("POST", path, "", { authorization: `Bearer ${token}` }));
    }
    const { connections } = scale;
    const [figures] = await compare("http1", [{ pid: holt.server.pid, load: { port: holt.server.port, connections, requests } }]);
    const { perSecond = Number.NaN, p99 = Number.NaN } = figures ?? {};
    const figure = `${short(perSecond)}/s, p99 ${short(p99)} ms`;
    return [{ measured: "Token exchange", store, figure, target: `≥ ${MIN_PER_SECOND}/s`, holds: perSecond >= MIN_PER_SECOND }];
  } finally {
    await removeScratchGroup(holt, group);
  }
}
