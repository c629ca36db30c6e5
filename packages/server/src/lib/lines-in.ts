/** Splits UTF-8 into lines. `node:readline` also splits at U+2028 and U+2029, which strings of JSON may contain. */

const LINE_FEED = 10;

/** Lines end in a line feed, which the last one may lack. */
export async function* linesIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let line: Uint8Array[] = [];
  for await (const chunk of bytes) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      yield Buffer.concat([...line, chunk.subarray(start, end)]).toString();
      line = [];
      start = end + 1;
    }
    if (start < chunk.length) line.push(chunk.subarray(start));
  }
  if (line.length > 0) yield Buffer.concat(line).toString();
}
