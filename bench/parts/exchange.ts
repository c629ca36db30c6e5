/** Measures token exchange: verifying a third-party token, matching its claims, issuing a token and recording the last use. */
import { createPublicKey, type JsonWebKey } from "node:crypto";
import { startIssuer } from "../../packages/server/test/harness/oidc-issuer.ts";
import { makeScratchGroup, removeScratchGroup } from "../data/scratch.ts";
import type { StoreName } from "../data/stores.ts";
import { compareRest } from "../limit/compare.ts";
import type { ExchangePlan } from "../limit/plan.ts";
import type { Line } from "../report.ts";
import { scale } from "../scale.ts";
import { type Served, serve } from "../servers.ts";

const IDENTITIES = 50;
const TOKENS = 500;

export async function exchange(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const group = await makeScratchGroup(holt);
  try {
    await using made = await makeExchanges(holt, group);
    const { exchanges, publicKey } = made;
    const answer = await exchangeOnce(holt, exchanges[0] as Exchange);
    const line = await compareRest({
      measured: "Token exchange",
      holt,
      plan: planOf(answer, publicKey),
      targets: { limit: { sqlite: 0.8, postgres: 0.8 } },
      load: {
        connections: scale.connections,
        requests: exchanges.map(({ path, authorization }) => holt.request("POST", path, "", { authorization })),
      },
      answer,
      isExact: false,
    });
    return [line];
  } finally {
    await removeScratchGroup(holt, group);
  }
}

export interface Exchange {
  readonly path: string;
  readonly authorization: string;
}

export interface Exchanges extends AsyncDisposable {
  readonly exchanges: readonly Exchange[];
  /** Verifies the tokens. */
  readonly publicKey: JsonWebKey;
}

/** Creates identities below a group, and tokens of an issuer that they match. */
export async function makeExchanges(holt: Served, group: string): Promise<Exchanges> {
  const issuer = await startIssuer();
  const uids: string[] = [];
  for (let i = 0; i < IDENTITIES; i++) {
    const identity = { name: `workload-${i}`, claimMatch: { issuer: issuer.issuer, subject: `workload-${i}`, audience: "holt" } };
    uids.push((JSON.parse(await holt.fetch("POST", `/iam/v2/identities/${group}`, JSON.stringify(identity))) as { uid: string }).uid);
  }
  const exchanges: Exchange[] = [];
  for (let i = 0; i < TOKENS; i++) {
    const token = await issuer.sign({ sub: `workload-${i % IDENTITIES}`, aud: "holt", jti: String(i) });
    exchanges.push({ path: `/sts/exchange?identity=${uids[i % IDENTITIES]}`, authorization: `Bearer ${token}` });
  }
  const [publicKey] = (await issuer.jwks()).keys;
  return { exchanges, publicKey: publicKey as JsonWebKey, [Symbol.asyncDispose]: () => issuer[Symbol.asyncDispose]() };
}

async function exchangeOnce({ server }: Served, { path, authorization }: Exchange): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method: "POST", headers: { authorization } });
  return response.text();
}

/** The limit server signs the token of the model answer again. */
function planOf(answer: string, key: JsonWebKey): ExchangePlan {
  const { token } = JSON.parse(answer) as { token: string };
  const signed = token.slice(0, token.lastIndexOf("."));
  const [before = "", after = ""] = answer.split(token);
  const publicKey = createPublicKey({ key, format: "jwk" }).export({ type: "spki", format: "pem" }).toString();
  return { kind: "exchange", publicKey, signed, texts: [`${before}${signed}.`, after] };
}
