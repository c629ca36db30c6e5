/** Contexts: the servers and accounts that the command line knows, by name. */
import { Failure, usageFailure } from "../failure.ts";
import { readJsonFile, withLock, writeJsonFile } from "./config-folder.ts";
import { trustAuthorities } from "./trust.ts";

export interface Context {
  /** URL of the server. */
  readonly url: string;
  /** The group in which resources are created and listed by default: a uid or a path of names. */
  readonly group?: string;
  /** A file with certificate authorities to trust for this server, in PEM form. */
  readonly caFile?: string;
}

export interface Contexts {
  readonly current?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

export interface NamedContext extends Context {
  /** Undefined for a server that only the environment names. */
  readonly name: string | undefined;
}

const FILE = "config.json";

export function readContexts(): Contexts {
  return readJsonFile<Contexts>(FILE, { contexts: {} });
}

export async function changeContexts(change: (contexts: Contexts) => Contexts): Promise<void> {
  await withLock("config", async () => writeJsonFile(FILE, change(readContexts())));
}

/** The context that a command uses: the flag, then HOLT_CONTEXT, then HOLT_URL, then the current one. */
export function selectContext(flag: string | undefined): NamedContext {
  const selected = findSelected(flag);
  if (selected === undefined) throw new Failure("no server is set up", { advice: "sign in with: holt login URL", status: 3 });
  return ready(selected);
}

/** @returns undefined if nothing selects a context */
function findSelected(flag: string | undefined): NamedContext | undefined {
  const { HOLT_CONTEXT, HOLT_URL } = process.env;
  const stored = readContexts();
  const name = flag ?? (HOLT_CONTEXT || undefined) ?? (HOLT_URL ? undefined : stored.current);
  if (name === undefined && HOLT_URL) return { name: nameOfUrl(stored, HOLT_URL), ...normalized(stored, HOLT_URL) };
  if (name === undefined) return undefined;
  const context = Object.hasOwn(stored.contexts, name) ? stored.contexts[name] : undefined;
  if (context === undefined) throw usageFailure(`there is no context "${name}"`, "holt context list shows all");
  return { name, ...context };
}

/** A context with whose server this process can connect. */
function ready(context: NamedContext): NamedContext {
  trustAuthorities(context.caFile);
  return context;
}

/** The context of a registry's host, as docker names it. */
export function findContextOfHost(host: string, flag: string | undefined): NamedContext | undefined {
  const wanted = host.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
  return findContext((url) => new URL(url).host === wanted, flag);
}

export function findContextOfUrl(url: string, flag: string | undefined): NamedContext | undefined {
  return findContext((other) => other === url, flag);
}

/** Prefers the context that the command uses, and then the current one: several accounts may have one server. */
function findContext(isWanted: (url: string) => boolean, flag: string | undefined): NamedContext | undefined {
  const selected = findSelected(flag);
  if (selected !== undefined && isWanted(selected.url)) return ready(selected);
  const { current, contexts } = readContexts();
  const found = Object.entries(contexts).filter(([, { url }]) => isWanted(url));
  const [name, context] = found.find(([other]) => other === current) ?? found[0] ?? [];
  return context && ready({ name, ...context });
}

export function parseServerUrl(text: string): string {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "" || url.hash !== "")
    throw usageFailure(`"${text}" is not the URL of a server`, "for example: https://holt.example.com");
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

function nameOfUrl({ contexts }: Contexts, text: string): string | undefined {
  const url = parseServerUrl(text);
  return Object.entries(contexts).find(([, context]) => context.url === url)?.[0];
}

function normalized(stored: Contexts, text: string): Context {
  const name = nameOfUrl(stored, text);
  return (name === undefined ? undefined : stored.contexts[name]) ?? { url: parseServerUrl(text) };
}
