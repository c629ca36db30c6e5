/** Records of `key: value` lines with empty lines between them, as apk and dpkg write their databases. Pure. */

/** Beyond this, a line is no field that anybody reads. */
const MAX_LINE = 4096;

/** Of each record the first value of each of these keys; records that have none are left out. */
export function* readRecords(text: string, keyOf: (line: string) => string | undefined): Generator<ReadonlyMap<string, string>> {
  let record = new Map<string, string>();
  for (const line of linesOf(text)) {
    if (line === "") {
      if (record.size > 0) yield record;
      record = new Map();
      continue;
    }
    const key = line.length > MAX_LINE ? undefined : keyOf(line);
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
