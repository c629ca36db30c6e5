/** The common input of all feed formats, and small helpers for rendering. */

import type { NamedGroups } from "./ecosystems.ts";
import type { PublishedAdvisory } from "./published-advisory.ts";
import type { Vulnerability } from "./vulnerability.ts";

export interface Rendering {
  /** Base URL of this server, without a trailing slash. */
  readonly baseUrl: string;
  /** Uid of the feed's group. */
  readonly group: string;
  readonly groupName: string;
  /** The groups that select a distribution by their names. */
  readonly distributions: NamedGroups;
  /** Architectures of the apk packages of the feed's advisories, sorted. */
  readonly architectures: readonly string[];
  /** Public vulnerability records by alias, as far as they exist. */
  readonly vulnerabilities: ReadonlyMap<string, Vulnerability>;
}

/** The text around the entries of a feed that is a single JSON document. */
export interface Frame {
  readonly head: string;
  /** @param state `newest` is the latest change (RFC 3339); `version` grows with every change */
  tail(state: { readonly newest: string; readonly version: number }): string;
}

export function feedUrl({ baseUrl, group }: Rendering, file: string): string {
  return `${baseUrl}/holt/v1/feeds/${group}/${file}`;
}

/** The record of the first alias that has one. The order of aliases is the author's. */
export function knownVulnerability({ aliases }: PublishedAdvisory, { vulnerabilities }: Rendering): Vulnerability | undefined {
  for (const alias of aliases) {
    const found = vulnerabilities.get(alias);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The first CVE id among the aliases, else the first alias, else the advisory id. */
export function vulnerabilityName({ advisoryId, aliases }: PublishedAdvisory): string {
  return aliases.find((alias) => isCve(alias)) ?? aliases[0] ?? advisoryId;
}

export function isCve(id: string): boolean {
  return /^CVE-[0-9]{4}-[0-9]{4,}$/.test(id);
}

/** The latest of these RFC 3339 times; the empty string if there are none. */
export function newest(times: readonly string[]): string {
  return times.reduce((a, b) => (a > b ? a : b), "");
}
