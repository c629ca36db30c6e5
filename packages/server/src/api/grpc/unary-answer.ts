/** Sends the answers of unary gRPC on HTTP/2 streams. */
import type { ServerHttp2Stream } from "node:http2";
import type { Answer } from "../../http/answer.ts";
import { COMMON_HEADERS } from "../../http/http-exchange.ts";
import { SLICE_BYTES, SlicedOutput } from "../../http/sliced-output.ts";

const OK = { "grpc-status": "0" };
const WITH_TRAILERS = { waitForTrailers: true };
const COMMON_FIELDS = Object.entries(COMMON_HEADERS).flat();

/** @param type the content type of the request, which the answer repeats */
export function sendMessage(stream: ServerHttp2Stream, framed: Buffer, answer: Answer, type: string): void {
  if (stream.closed || stream.destroyed) return;
  stream.on("wantTrailers", sendOk);
  // An array, because node copies an object to another one first. Node adds the date to this array.
  stream.respond([...COMMON_FIELDS, ":status", "200", "content-type", type], WITH_TRAILERS);
  if (framed.length > SLICE_BYTES) {
    const output = new SlicedOutput(answer, stream);
    output.write(framed);
    output.end();
  } else {
    answer.add(framed.length);
    stream.end(framed);
  }
}

/** One listener for all streams. */
function sendOk(this: ServerHttp2Stream): void {
  this.sendTrailers(OK);
}

/** Ends a stream with an error ("Trailers-Only"). */
export function refuseStream(stream: ServerHttp2Stream, trailers: Record<string, string>): void {
  if (stream.closed || stream.destroyed || stream.headersSent) return;
  const headers = { ...COMMON_HEADERS, ":status": 200, "content-type": "application/grpc", "grpc-accept-encoding": "gzip" };
  stream.respond({ ...headers, ...trailers }, { endStream: true });
}
