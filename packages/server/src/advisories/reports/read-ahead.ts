/**
 * Reads large data in chunks, the next ones while the consumer works on one, and yields to other requests in between.
 */
import { setImmediate } from "node:timers/promises";
import type { ReadDb } from "../../db/store.ts";

/**
 * Chunks that PostgreSQL reads concurrently. It runs in another process and has connections left for other requests.
 */
const AHEAD = 2;

/** Each chunk with its answer, in order. */
export async function* readAhead<C, R>(
  chunks: Iterable<C> | AsyncIterable<C>,
  read: (chunk: C) => Promise<R>,
  { dialect }: Pick<ReadDb, "dialect">,
): AsyncGenerator<readonly [chunk: C, answer: R]> {
  const ahead = dialect.isInProcess ? 1 : AHEAD;
  const pending: (readonly [C, Promise<R>])[] = [];
  for await (const chunk of chunks) {
    const answer = read(chunk);
    // If the consumer stops early, this promise is never awaited.
    answer.catch(() => {});
    pending.push([chunk, answer]);
    // SQLite answers synchronously; yield so that other requests are served between chunks.
    await setImmediate();
    if (pending.length > ahead) yield await next(pending);
  }
  while (pending.length > 0) yield await next(pending);
}

async function next<C, R>(pending: (readonly [C, Promise<R>])[]): Promise<readonly [C, R]> {
  const [chunk, answer] = pending.shift()!;
  return [chunk, await answer];
}
