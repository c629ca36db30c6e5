/** Gets a credential by the method that the caller chose. */
import { resolve } from "node:path";
import { tokenOf } from "@holt/client/node";
import type { Invocation } from "../command/invocation.ts";
import type { AccessToken, Credential, WorkloadSource } from "../contexts/credentials.ts";
import { accessFrom, renew } from "../contexts/renew.ts";
import { usageFailure } from "../failure.ts";
import { readStandardInput } from "../terminal/ask.ts";
import { assertServer } from "./assert-server.ts";
import type { SignedIn } from "./browser.ts";

/** A credential with an access token that was just issued. */
export type NewCredential = Credential & { readonly access: AccessToken };

export async function obtainCredential(url: string, invocation: Invocation): Promise<NewCredential> {
  const { option, isSet, signal } = invocation;
  if (isSet("bootstrap") || option("data-dir") !== undefined) {
    const dataDir = resolve(option("data-dir") ?? process.env.HOLT_DATA_DIR ?? "data");
    return renew({ kind: "bootstrap", dataDir }, url);
  }
  const from = option("from");
  if (from !== undefined) {
    const source = parseSource(from);
    return renew({ kind: "workload", source, identity: option("identity") ?? (await identityOf(source)) }, url);
  }
  if (isSet("token-stdin")) return credentialOfToken(url, (await readStandardInput()).trim(), invocation);
  const rest = invocation.rest(url);
  const options = { organization: option("org"), invite: option("invite"), rest, signal };
  await assertServer(url, rest, signal);
  if (isSet("device")) return credentialOf(await (await import("./device.ts")).signInOnDevice(options));
  if (isSet("headless")) return credentialOf(await (await import("./headless.ts")).signInHeadless(url, options));
  const mayOpen = invocation.options.open !== false;
  return credentialOf(await (await import("./browser.ts")).signInWithBrowser(url, { ...options, mayOpen }));
}

/** The server's own tokens are kept as they are; those of other issuers are exchanged. */
async function credentialOfToken(url: string, token: string, { option, rest }: Invocation): Promise<NewCredential> {
  if (token === "") throw usageFailure("standard input has no token");
  const identity = option("identity");
  if (issuerOf(token) === url && identity === undefined) return credentialOf({ token, refreshToken: undefined });
  const { exchangeLogin } = await import("./exchange-login.ts");
  return credentialOf(await exchangeLogin(rest(url), token, identity));
}

function credentialOf({ token, refreshToken }: SignedIn): NewCredential {
  const access = accessFrom(tokenOf(token));
  return refreshToken === undefined ? { kind: "access", access } : { kind: "refresh", refreshToken, access };
}

function parseSource(text: string): WorkloadSource {
  const [, kind, value = ""] = /^(github|aws|file|env|key)(?::(.+))?$/s.exec(text) ?? [];
  if (kind === "aws") return { from: "aws" };
  if (kind === "github") return { from: "github" };
  if (kind === "file" && value !== "") return { from: "file", path: resolve(value) };
  if (kind === "key" && value !== "") return { from: "key", path: resolve(value) };
  if (kind === "env" && value !== "") return { from: "variable", name: value };
  throw usageFailure(`--from: "${text}" must be github, aws, file:PATH, env:NAME or key:PATH`);
}

/** A key file names its identity; other tokens may be accepted by several. */
async function identityOf(source: WorkloadSource): Promise<string> {
  if (source.from === "key") return (await import("../workload/key-file.ts")).readKeyFile(source.path).identity;
  throw usageFailure("--from needs --identity", "give the uid of the identity that accepts these tokens");
}

function issuerOf(token: string): string | undefined {
  try {
    const [, claims = ""] = token.split(".");
    return (JSON.parse(Buffer.from(claims, "base64url").toString()) as { iss?: string }).iss;
  } catch {
    return undefined;
  }
}
