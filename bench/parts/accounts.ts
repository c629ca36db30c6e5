/** Compares sign-ins with a passkey among many accounts of the server with those among a few. */
import { createHash, createPrivateKey, sign } from "node:crypto";
import { ACCOUNTS_URL, type AccountContents, credentialOf, openAccounts, userHandleOf } from "../data/accounts.ts";
import type { StoreName } from "../data/stores.ts";
import { cpuSeconds } from "../process.ts";
import { type Line, median, short } from "../report.ts";
import { scale } from "../scale.ts";
import { type Served, serveFilled } from "../servers.ts";

const FEW_ACCOUNTS = 1000;
const SIGN_INS_PER_ROUND = 200;
const MAX_RATIO = 1.2;

interface Figures {
  readonly p99: number;
  readonly cpuMs: number;
}

export async function accounts(store: StoreName): Promise<Line[]> {
  const settings = { HOLT_BASE_URL: ACCOUNTS_URL };
  await using few = closing(await serveFilled(await openAccounts(store, Math.min(FEW_ACCOUNTS, scale.rows)), { settings }));
  await using many = closing(await serveFilled(await openAccounts(store, scale.rows), { settings }));
  for (const { served } of [few, many]) await measure(served);
  const rounds: [Figures, Figures][] = [];
  for (let round = 0; round < scale.rounds; round++) rounds.push([await measure(few.served), await measure(many.served)]);
  const medianOf = (which: 0 | 1, key: keyof Figures) => median(rounds.map((figures) => figures[which][key]));
  const latency = medianOf(1, "p99") / medianOf(0, "p99");
  const cpu = medianOf(1, "cpuMs") / medianOf(0, "cpuMs");
  const figure = `p99 ${short(medianOf(1, "p99"))} ms, × ${short(latency)} of ${FEW_ACCOUNTS} accounts; CPU × ${short(cpu)}`;
  const measured = `Sign-in with a passkey among ${scale.rows} accounts`;
  return [{ measured, store, figure, target: `× ≤ ${MAX_RATIO}`, holds: Math.min(latency, cpu) <= MAX_RATIO }];
}

function closing(served: Served<AccountContents>) {
  return { served, [Symbol.asyncDispose]: () => served.server[Symbol.asyncDispose]() };
}

/** One person after the other opens the page and signs in. */
async function measure({ server, contents }: Served<AccountContents>): Promise<Figures> {
  const before = cpuSeconds(server.pid);
  const latencies: number[] = [];
  for (let count = 0; count < SIGN_INS_PER_ROUND; count++) {
    const account = Math.floor(Math.random() * contents.accounts);
    const started = performance.now();
    await signIn(`http://127.0.0.1:${server.port}`, account, contents);
    latencies.push(performance.now() - started);
  }
  const p99 = latencies.toSorted((a, b) => a - b)[Math.floor(SIGN_INS_PER_ROUND * 0.99)] ?? Number.NaN;
  return { p99, cpuMs: ((cpuSeconds(server.pid) - before) / SIGN_INS_PER_ROUND) * 1000 };
}

async function signIn(url: string, account: number, contents: AccountContents): Promise<void> {
  const opened = await fetch(`${url}/oauth`);
  const page = await opened.text();
  const cookie = opened.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "";
  const handle = /name="handle" value="([^"]*)"/.exec(page)?.[1] ?? "";
  const challenge = /&quot;challenge&quot;:&quot;([^&]*)&quot;/.exec(page)?.[1] ?? "";
  const body = new URLSearchParams({ handle, credential: JSON.stringify(assertionOf(account, challenge, contents)) });
  const answer = await fetch(`${url}/oauth/account/sign-in`, { method: "POST", headers: { cookie }, body });
  const text = await answer.text();
  if (!text.includes('id="token"')) throw new Error(`the sign-in failed with ${answer.status}: ${text.slice(0, 2000)}`);
}

/** The answer of an authenticator that verified its user and does not count. */
function assertionOf(account: number, challenge: string, { key }: AccountContents): object {
  const clientData = Buffer.from(JSON.stringify({ type: "webauthn.get", challenge, origin: ACCOUNTS_URL, crossOrigin: false }));
  const digest = (content: string | Buffer) => createHash("sha256").update(content).digest();
  const authenticatorData = Buffer.concat([digest(new URL(ACCOUNTS_URL).hostname), Buffer.from([0x05, 0, 0, 0, 0])]);
  const signed = Buffer.concat([authenticatorData, digest(clientData)]);
  const signature = sign("sha256", signed, createPrivateKey({ key, format: "jwk" }));
  const id = credentialOf(account);
  const response = {
    clientDataJSON: clientData.toString("base64url"),
    authenticatorData: authenticatorData.toString("base64url"),
    signature: signature.toString("base64url"),
    userHandle: userHandleOf(account),
  };
  return { id, rawId: id, type: "public-key", clientExtensionResults: {}, response };
}
