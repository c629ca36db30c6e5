/** Reads os-release, which names the distribution of an image. Pure. */

export interface OsRelease {
  /** As in package URLs, such as `alpine`; empty if unknown. */
  readonly id: string;
  readonly version: string;
}

const KEYS = ["ID", "VERSION_ID"] as const;
const WORD = /^[a-z0-9][\w.+~-]{0,63}$/i;
/** Characters of a line. Longer lines are skipped. */
const MAX_LINE = 4096;

/** The last line of a key counts, as in a shell. */
export function readOsRelease(text: string): OsRelease {
  const fields = new Map<string, string>();
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    const key = KEYS.find((name) => text.startsWith(`${name}=`, start));
    if (key !== undefined && end - start <= MAX_LINE) fields.set(key, valueFrom(text.slice(start + key.length + 1, end).trimEnd()));
    start = end + 1;
  }
  const [id = "", version = ""] = KEYS.map((key) => fields.get(key) ?? "").map((value) => (WORD.test(value) ? value : ""));
  return { id: id.toLowerCase(), version };
}

function valueFrom(text: string): string {
  const quote = text[0];
  const isQuoted = text.length >= 2 && (quote === '"' || quote === "'") && text.endsWith(quote);
  return isQuoted ? text.slice(1, -1) : text;
}
