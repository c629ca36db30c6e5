/** Connects streams. */
import type { Readable, Transform } from "node:stream";

/** Pipes the source through the stream, which also fails if the source does: `pipe` alone would let its reader wait. @returns the stream */
export function pipeThrough<Stream extends Transform>(source: Readable, stream: Stream): Stream {
  source.on("error", (error) => stream.destroy(error));
  return source.pipe(stream);
}
