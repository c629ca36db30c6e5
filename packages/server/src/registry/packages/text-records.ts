/** Reads records of `key: value` lines that are separated by empty lines, as apk and dpkg write them. Pure. */

/** In characters. Longer lines are skipped. */
const MAX_LINE_LENGTH = 4096;

/**
 * The first value of each of these keys for each record; skips records that have none.
 * @param keyOf the key of a line; undefined to skip the line
 */
export function* readRecords(text: string, keyOf: (line: string) => string | undefined): Generator<ReadonlyMap<string, string>> {
  let record = new Map<string, string>();
  for (const line of linesOf(text)) {
    if (line === "") {
      if (record.size > 0) yield record;
      record = new Map();
      continue;
    }
    const key = line.length > MAX_LINE_LENGTH ? undefined : keyOf(line);
    if (key !== undefined && !record.has(key)) record.set(key, line.slice(line.indexOf(":") + 1).trim());
  }
  if (record.size > 0) yield record;
}

function* linesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start);
    const stop = end < 0 ? text.length : end;
    yield text.slice(start, text[stop - 1] === "\r" ? stop - 1 : stop);
    start = stop + 1;
  }
}
