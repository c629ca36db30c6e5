/** Large reads in chunks: while what is read of one is worked on, a database of its own reads the next. Others are answered in between. */
import { setImmediate } from "node:timers/promises";

/** Each chunk with what was read of it, in their order. */
export async function* readAhead<C, R>(
  chunks: Iterable<C> | AsyncIterable<C>,
  read: (chunk: C) => Promise<R>,
): AsyncGenerator<readonly [chunk: C, answer: R]> {
  let before: readonly [C, Promise<R>] | undefined;
  for await (const chunk of chunks) {
    const current = [chunk, read(chunk)] as const;
    // Nobody may be there to hear of it, where what comes before is too much.
    current[1].catch(() => {});
    // SQLite has answered by now: without this nobody else would be answered between chunks.
    await setImmediate();
    if (before !== undefined) yield [before[0], await before[1]];
    before = current;
  }
  if (before !== undefined) yield [before[0], await before[1]];
}
