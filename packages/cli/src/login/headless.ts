/** Signs in on a machine without a browser: the server encrypts the result for a key of this process. */
import { createDecipheriv, createPublicKey, diffieHellman, generateKeyPairSync, type KeyObject } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Rest } from "@holt/client/rest";
import { exitStatus, Failure } from "../failure.ts";
import type { SignedIn, SignInOptions } from "./browser.ts";
import { exchangeLogin } from "./exchange-login.ts";
import { signInUrl } from "./sign-in-url.ts";

interface HeadlessSession {
  readonly ecdhPublicKey: string;
  readonly encryptedIdtoken: string;
}

const POLL_MS = 2000;
/** The server keeps the session for five minutes, and the person needs some of a quarter of an hour to sign in. */
const MAX_POLLS = 450;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export async function signInHeadless(baseUrl: string, options: SignInOptions): Promise<SignedIn> {
  const { privateKey, publicKey } = generateKeyPairSync("x25519");
  const code = publicKey.export({ format: "jwk" }).x ?? "";
  process.stderr.write(`Open this address in a browser on any machine, and compare the code:\n\n`);
  process.stderr.write(`  ${signInUrl(baseUrl, { headless_code: code }, options)}\n\nWaiting for you to confirm ...\n`);
  const session = await poll(options.rest, code, options.signal);
  return exchangeLogin(options.rest, decrypt(session, privateKey));
}

async function poll(rest: Rest, code: string, signal: AbortSignal): Promise<HeadlessSession> {
  for (let count = 0; count < MAX_POLLS; count++) {
    try {
      return (await rest.call({ method: "GET", path: "/sts/headless_sessions", query: { code }, signal })) as HeadlessSession;
    } catch (error) {
      if ((error as { code?: string }).code !== "NOT_FOUND") throw error;
    }
    await sleep(POLL_MS, undefined, { signal });
  }
  throw new Failure("nobody confirmed the sign-in in time", { advice: "run the command again", status: exitStatus.signedOut });
}

function decrypt({ ecdhPublicKey, encryptedIdtoken }: HeadlessSession, privateKey: KeyObject): string {
  const x = Buffer.from(ecdhPublicKey, "base64").toString();
  const publicKey = createPublicKey({ key: { kty: "OKP", crv: "X25519", x }, format: "jwk" });
  const bytes = Buffer.from(encryptedIdtoken, "base64");
  const decipher = createDecipheriv("aes-256-gcm", diffieHellman({ privateKey, publicKey }), bytes.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
}
