/** The lines of the files in packages that begin with headers: METADATA, PKG-INFO and WHEEL. Pure. */

/** The lines before the first empty one, which end in a line feed, a carriage return, or both. */
export function* headerLines(text: string): Generator<string> {
  const end = /\r\n|\n|\r/g;
  for (let start = 0; start < text.length; start = end.lastIndex) {
    const found = end.exec(text);
    const line = text.slice(start, found?.index ?? text.length);
    if (line === "") return;
    yield line;
    if (found === null) return;
  }
}
