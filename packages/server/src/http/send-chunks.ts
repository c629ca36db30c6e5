/** Sends the body of a response while it is made, and breaks off a response that cannot be completed. */
import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import type { HttpResponse } from "./http-exchange.ts";

/** Makes the next chunk when the reader has taken the one before. Stops if the client disconnects. @throws the error of the chunks */
export async function sendChunks(response: HttpResponse, chunks: AsyncIterable<string>): Promise<void> {
  for await (const chunk of chunks) {
    if (response.destroyed) return;
    if (!(response as Pick<ServerResponse, "write">).write(chunk)) await drained(response);
    // Nothing more is read for a client that left meanwhile.
    if (response.destroyed) return;
  }
  response.end();
}

/** Resolves when the reader has taken what was written, or is gone. */
function drained(response: HttpResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      response.off("drain", settle);
      response.off("close", settle);
      resolve();
    };
    response.on("drain", settle);
    response.on("close", settle);
    // Then no event comes.
    if (response.destroyed) settle();
  });
}

/** Ends a response that has begun, so that the client notices that it is not complete. */
export function breakOff(response: HttpResponse): void {
  if ("stream" in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}
