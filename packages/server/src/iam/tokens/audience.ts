/** Decides whether a token's audience is one that the operator configured. Pure. */

export interface AudienceList {
  has(audience: string): boolean;
}

/**
 * @param entries URLs (`https://api.example.test`), hosts (`registry.example.test`) or all hosts below one
 * (`*.example.test`). A URL and its bare host are the same audience, since clients send either.
 */
export function createAudienceList(entries: readonly string[]): AudienceList {
  const exact = new Set(entries.filter((entry) => !entry.startsWith("*.")).flatMap(audienceForms));
  const suffixes = entries.filter((entry) => entry.startsWith("*.")).map((entry) => entry.slice(1));
  return { has: (audience) => exact.has(audience) || suffixes.some((suffix) => isHostBelow(audience, suffix)) };
}

/** All spellings of one audience: the URL with and without a trailing slash, the host with its port, the host alone. */
export function audienceForms(audience: string): string[] {
  const isUrl = audience.includes("://");
  const text = isUrl ? audience : `https://${audience}`;
  if (!URL.canParse(text)) return [audience];
  const { host, hostname, origin, pathname } = new URL(text);
  if (pathname !== "/") return [audience];
  return isUrl ? [audience, origin, `${origin}/`, host, hostname] : [audience, origin, `${origin}/`];
}

function isHostBelow(audience: string, suffix: string): boolean {
  const host = audience.replace(/^https:\/\//, "").replace(/\/$/, "");
  return host.endsWith(suffix) && /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/.test(host.slice(0, -suffix.length));
}
