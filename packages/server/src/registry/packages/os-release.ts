/** Reads os-release, which names the distribution of an image. Pure. */

export interface OsRelease {
  /** As in package URLs, such as `alpine`; empty if unknown. */
  readonly id: string;
  readonly version: string;
}

const FIELD = /^(ID|VERSION_ID)=(?:"([^"]*)"|'([^']*)'|(.*?))\s*$/gm;
const WORD = /^[a-z0-9][\w.+~-]{0,63}$/i;

export function readOsRelease(text: string): OsRelease {
  const fields = new Map<string, string>();
  for (const [, key = "", ...values] of text.matchAll(FIELD)) fields.set(key, values.find((value) => value !== undefined) ?? "");
  const [id, version] = ["ID", "VERSION_ID"].map((key) => fields.get(key) ?? "").map((value) => (WORD.test(value) ? value : ""));
  return { id: id?.toLowerCase() ?? "", version: version ?? "" };
}
