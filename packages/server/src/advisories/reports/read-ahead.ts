/** Large reads in chunks: while what is read of one is worked on, a database of its own reads the next ones. Others are answered in between. */
import { setImmediate } from "node:timers/promises";
import type { ReadDb } from "../../db/store.ts";

/** Chunks that another process reads at the same time: it has processors of its own, and connections for others. */
const AHEAD = 2;

/** Each chunk with what was read of it, in their order. */
export async function* readAhead<C, R>(
  chunks: Iterable<C> | AsyncIterable<C>,
  read: (chunk: C) => Promise<R>,
  { dialect }: Pick<ReadDb, "dialect">,
): AsyncGenerator<readonly [chunk: C, answer: R]> {
  const ahead = dialect.isInProcess ? 1 : AHEAD;
  const pending: (readonly [C, Promise<R>])[] = [];
  for await (const chunk of chunks) {
    const answer = read(chunk);
    // Nobody may be there to hear of it, where what comes before is too much.
    answer.catch(() => {});
    pending.push([chunk, answer]);
    // SQLite has answered by now: without this nobody else would be answered between chunks.
    await setImmediate();
    if (pending.length > ahead) yield await next(pending);
  }
  while (pending.length > 0) yield await next(pending);
}

async function next<C, R>(pending: (readonly [C, Promise<R>])[]): Promise<readonly [C, R]> {
  const [chunk, answer] = pending.shift()!;
  return [chunk, await answer];
}
