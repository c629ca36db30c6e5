/** holt login: signs in at a server and keeps the credential under the name of a context. */
import { resolve } from "node:path";
import type { Invocation } from "../command/invocation.ts";
import type { OptionSpec, Verb } from "../command/verb.ts";
import { tokenFrom } from "../contexts/access-token.ts";
import { type Context, type Contexts, changeContexts, parseServerUrl, readContexts } from "../contexts/contexts.ts";
import { chooseStore, writeCredential } from "../contexts/credentials.ts";
import { trustAuthorities } from "../contexts/trust.ts";
import { usageFailure } from "../failure.ts";
import { callerOf } from "../login/caller.ts";
import { obtainCredential } from "../login/obtain-credential.ts";

const options: readonly OptionSpec[] = [
  { name: "name", value: "CONTEXT", help: "the name of the context; by default the host of the server" },
  { name: "org", value: "NAME", help: "sign in at the identity provider of this organization" },
  { name: "device", help: "show a code to type on another device" },
  { name: "headless", help: "show an address to open on another machine; the result comes back encrypted" },
  { name: "open", negatable: true, help: "open the browser, or only show the address" },
  { name: "invite", value: "CODE", help: "accept an invite" },
  { name: "token-stdin", help: "read a token from standard input: an access token, or a token of another issuer" },
  { name: "identity", value: "UID", help: "the identity to act as, with a token of another issuer" },
  {
    name: "from",
    value: "SOURCE",
    help: "sign in as a workload, with the tokens of github, aws, file:PATH or env:NAME, which need --identity, or with key:PATH",
  },
  { name: "bootstrap", help: "sign in as the bootstrap owner, on the server's own machine" },
  { name: "data-dir", value: "FOLDER", help: "the server's data folder, for --bootstrap; default HOLT_DATA_DIR or data" },
  { name: "group", value: "GROUP", help: "the default group of the context" },
  {
    name: "store",
    value: "WHERE",
    help: "keep the credential in the keyring or in a file; by default in the keyring if there is one",
    values: ["keyring", "file"],
  },
  { name: "ca-file", value: "FILE", help: "trust the certificate authorities in this file for the server, now and later" },
];

export const verb: Verb = {
  path: "login",
  summary: "Sign in at a server.",
  description:
    "Without options, the browser opens. The credential is kept in the system's keyring, or in a file that only you can read, and renewed " +
    "when necessary. The context becomes the current one.",
  examples: [
    "holt login https://holt.example.com",
    "holt login http://127.0.0.1:8080 --bootstrap --data-dir data",
    "holt login https://holt.example.com --from github --identity $IDENTITY",
  ],
  arguments: [{ name: "url", help: "URL of the server" }],
  options,
  run: login,
};

const LOOPBACK = new Set(["127.0.0.1", "[::1]", "localhost"]);
const METHODS = ["device", "headless", "token-stdin", "bootstrap", "from"];

async function login(invocation: Invocation): Promise<void> {
  const { options: given, option, output } = invocation;
  const methods = METHODS.filter((name) => given[name] !== undefined);
  if (methods.length > 1) throw usageFailure(`--${methods[0]} and --${methods[1]} exclude each other`);
  const store = chooseStore(option("store"));
  const url = parseServerUrl(invocation.argument("url"));
  const { host, hostname, protocol } = new URL(url);
  if (protocol === "http:" && !LOOPBACK.has(hostname))
    process.stderr.write(`Warning: ${url} is not encrypted; others on the network can read your token.\n`);
  const name = option("name") ?? host;
  const caFile = option("ca-file") === undefined ? contextOf(url, name, readContexts())?.caFile : resolve(option("ca-file") ?? "");
  trustAuthorities(caFile);
  const credential = await obtainCredential(url, invocation);
  // A login that fails leaves the contexts as they are.
  const caller = await callerOf(
    invocation.rest(url, async () => tokenFrom(credential.access)),
    invocation.signal,
  );
  await writeCredential(name, credential, store);
  const group = option("group");
  await changeContexts((stored) => {
    const context = { ...contextOf(url, name, stored), url, ...(group !== undefined && { group }), ...(caFile && { caFile }) };
    return { current: name, contexts: { ...stored.contexts, [name]: context } };
  });
  output.say(`Signed in at ${url} as ${caller.email || caller.name || caller.uid}. The context is ${name}.`);
}

/** The earlier context of the name, if it is about the same server: another one has other groups and authorities. */
function contextOf(url: string, name: string, { contexts }: Contexts): Context | undefined {
  const earlier = contexts[name];
  return earlier?.url === url ? earlier : undefined;
}
