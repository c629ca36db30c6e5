/** Matches names of repositories with the patterns of a pull token, in time linear in both. Pure. */

/** The repositories that a pull token is limited to. */
export interface RepositoryLimit {
  /** Uid of the group from which the patterns are paths. */
  readonly groupUid: string;
  readonly patterns: readonly string[];
}

const MAX_PATTERN_LENGTH = 255;
const SEGMENT = /^[a-z0-9._*-]+$/;

/** The fault of a pattern; undefined if it is valid. */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return `must have at most ${MAX_PATTERN_LENGTH} characters`;
  const segments = pattern.split("/");
  const named = segments.at(-1) === "**" ? segments.slice(0, -1) : segments;
  const isValid = named.every((segment) => SEGMENT.test(segment) && !segment.includes("**"));
  return isValid ? undefined : 'must be a path such as "shop/api", "shop/*" or "shop/**"';
}

/** @param path segments of the repository's name below the group of the pattern */
export function matchesPattern(path: readonly string[], pattern: string): boolean {
  const segments = pattern.split("/");
  if (segments.at(-1) !== "**") return path.length === segments.length && matchesSegments(path, segments);
  const named = segments.slice(0, -1);
  return path.length > named.length && matchesSegments(path, named);
}

function matchesSegments(path: readonly string[], segments: readonly string[]): boolean {
  return segments.every((segment, at) => matchesSegment(path[at] ?? "", segment));
}

/** The parts between asterisks occur in their order; each search begins where the last part ended. */
function matchesSegment(name: string, pattern: string): boolean {
  const [first = "", ...parts] = pattern.split("*");
  const last = parts.pop();
  if (last === undefined) return name === first;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let from = first.length;
  for (const part of parts) {
    const at = name.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= name.length - last.length;
}
