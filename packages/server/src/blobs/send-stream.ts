/** Writes a stream to a reader at the reader's speed. */
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { ReaderLeft } from "./send-file.ts";

/**
 * Resolves when all bytes are written and `to` is ended. If it rejects, `to` is not ended.
 * @throws ReaderLeft; errors of the source
 */
export async function sendStream(from: Readable, to: Writable): Promise<void> {
  const left = new AbortController();
  const leave = () => left.abort();
  to.on("close", leave).on("error", leave);
  try {
    for await (const chunk of from) {
      if (to.destroyed) throw new ReaderLeft();
      if (!to.write(chunk))
        await once(to, "drain", { signal: left.signal }).catch(() => {
          throw new ReaderLeft();
        });
    }
    to.end();
  } finally {
    to.removeListener("close", leave).removeListener("error", leave);
    // Handles errors of a later disconnect, since an unhandled error event ends the process.
    to.on("error", () => {});
  }
}
