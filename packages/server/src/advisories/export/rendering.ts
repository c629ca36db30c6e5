/** What every format is rendered with. */

import type { NamedGroups } from "./ecosystems.ts";
import type { PublishedAdvisory } from "./published-advisory.ts";
import type { Vulnerability } from "./vulnerability.ts";

export interface Rendering {
  /** Of this server, without a trailing slash. */
  readonly baseUrl: string;
  /** Uid of the group that the feed is of. */
  readonly group: string;
  readonly groupName: string;
  /** Which groups say by their names what distribution their packages are of. */
  readonly distributions: NamedGroups;
  /** Of the apk packages that advisories are about, in order. */
  readonly architectures: readonly string[];
  /** What public databases say of the aliases, where they say anything. */
  readonly vulnerabilities: ReadonlyMap<string, Vulnerability>;
}

/** Of a document that is a list of what advisories become. */
export interface Frame {
  readonly head: string;
  /** `version` grows with every change. */
  tail(state: { readonly newest: string; readonly version: number }): string;
}

export function feedUrl({ baseUrl, group }: Rendering, file: string): string {
  return `${baseUrl}/holt/v1/feeds/${group}/${file}`;
}

/** The one of the aliases that something is known of; the first of them, as their order is the author's. */
export function knownVulnerability({ aliases }: PublishedAdvisory, { vulnerabilities }: Rendering): Vulnerability | undefined {
  for (const alias of aliases) {
    const found = vulnerabilities.get(alias);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A public name of the vulnerability: its CVE id where it has one. */
export function vulnerabilityName({ advisoryId, aliases }: PublishedAdvisory): string {
  return aliases.find((alias) => isCve(alias)) ?? aliases[0] ?? advisoryId;
}

export function isCve(id: string): boolean {
  return /^CVE-[0-9]{4}-[0-9]{4,}$/.test(id);
}

/** The most recent change of what is rendered together. */
export function newest(times: readonly string[]): string {
  return times.reduce((a, b) => (a > b ? a : b), "");
}
