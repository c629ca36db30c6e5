/** Asks DNS for the addresses of a name, without a thread: any number of queries can wait at the same time. */
import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { readFile, stat } from "node:fs/promises";

export interface DnsAnswer {
  /** IPv4 first: a connection tries all, and hosts without IPv6 are more common than those without IPv4. */
  readonly addresses: readonly LookupAddress[];
  /** Whether DNS answered, including the answer that the name does not exist. */
  readonly isAnswered: boolean;
}

/** Never rejects. */
export type QueryDns = (hostname: string) => Promise<DnsAnswer>;

/** Timeout of the first attempt. c-ares uses longer ones for later attempts. */
const TIMEOUT_MS = 1500;
const TRIES = 2;
/** A resolver reads the addresses of the name servers when it is created. */
const RENEW_MS = 30_000;
/** Codes of names or types of address that do not exist. */
const NEGATIVE: ReadonlySet<unknown> = new Set(["ENOTFOUND", "ENODATA"]);

export function createDnsQuery(hostsPath = "/etc/hosts"): QueryDns {
  const isInHosts = createHostsFile(hostsPath);
  let resolver: Resolver | undefined;
  let renewed = 0;
  function current(): Resolver {
    if (resolver === undefined || performance.now() - renewed > RENEW_MS) {
      resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
      renewed = performance.now();
    }
    return resolver;
  }
  return async (hostname) => {
    if (await isInHosts(hostname)) return { addresses: [], isAnswered: true };
    const asked = current();
    const [v4, v6] = await Promise.allSettled([asked.resolve4(hostname), asked.resolve6(hostname)]);
    const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
    return { addresses, isAnswered: [v4, v6].some(isAnswer) };
  };
}

function addressesOf(outcome: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return outcome.status === "fulfilled" ? outcome.value.map((address) => ({ address, family })) : [];
}

function isAnswer(outcome: PromiseSettledResult<string[]>): boolean {
  return outcome.status === "fulfilled" || NEGATIVE.has((outcome.reason as NodeJS.ErrnoException).code);
}

/** The system's resolver prefers the hosts file, which DNS does not know. It is read again after it has changed. */
function createHostsFile(path: string): (hostname: string) => Promise<boolean> {
  let names: ReadonlySet<string> = new Set();
  let changed = -1;
  return async (hostname) => {
    const time = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => -1,
    );
    if (time !== changed) {
      names = new Set(namesIn(await readFile(path, "utf8").catch(() => "")));
      changed = time;
    }
    return names.has(hostname.toLowerCase());
  };
}

/** `address name alias # comment` on each line. */
function namesIn(text: string): string[] {
  return text.split("\n").flatMap((line) => (line.split("#", 1)[0] ?? "").trim().toLowerCase().split(/\s+/).slice(1));
}

export const queryDns = createDnsQuery();
