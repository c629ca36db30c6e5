/** Responses whose body is made while it is sent, over real connections. */
import assert from "node:assert/strict";
import { connect, constants } from "node:http2";
import { test } from "node:test";
import { startTransports } from "../../test/harness/transport-server.ts";
import { sendChunks } from "./send-chunks.ts";

const CHUNK = "x".repeat(1024 * 1024);

test("a response over HTTP/2 ends when its client resets the stream, in the first chunk and in the last", async () => {
  for (const isLast of [false, true]) {
    const begun = Promise.withResolvers<void>();
    const reset = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<number>();
    await using server = await startTransports({
      rest(_request, response) {
        let made = 0;
        async function* chunks() {
          made++;
          begun.resolve();
          yield CHUNK;
          await reset.promise;
          made++;
          yield "end";
        }
        response.once("close", () => reset.resolve());
        sendChunks(response, chunks()).then(() => ended.resolve(made), ended.reject);
      },
    });
    const session = connect(`http://127.0.0.1:${server.port}`).on("error", () => {});
    const stream = session.request({ ":path": "/iam/v2/groups" }).on("error", () => {});
    await begun.promise;
    // Read to its end, the first chunk is not waited for.
    if (isLast) await readBytes(stream, CHUNK.length);
    stream.close(constants.NGHTTP2_CANCEL);
    assert.equal(await ended.promise, isLast ? 2 : 1);
    session.destroy();
  }
});

async function readBytes(stream: AsyncIterable<Buffer>, wanted: number): Promise<void> {
  const iterator = stream[Symbol.asyncIterator]();
  for (let bytes = 0; bytes < wanted; ) bytes += (await iterator.next()).value.length;
}
