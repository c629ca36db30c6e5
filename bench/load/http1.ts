/**
 * Load generator for HTTP/1.1, run in its own process: each connection sends a request, reads the whole response and sends
 * the next request. It uses plain sockets, because a full client would become the bottleneck.
 */
import { connect } from "node:net";
import { type LoadSpec, measure } from "./worker.ts";

measure(async ({ port, connections, requests }: LoadSpec, run) => {
  const bytes = requests.map((request) => Buffer.from(request, "base64"));
  await Promise.all(Array.from({ length: connections }, (_, i) => client(port, bytes, i, run)));
});

const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** Resolves when the run is over. */
function client(
  port: number,
  requests: readonly Buffer[],
  first: number,
  run: Parameters<Parameters<typeof measure>[0]>[1],
): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  return new Promise((resolve, reject) => {
    let nextRequest = first * 7919;
    let started = 0;
    let missingBytes = -1;
    let isChunked = false;
    let head: Buffer | undefined;
    const send = () => {
      if (run.isOver()) return void socket.end(resolve);
      missingBytes = -1;
      started = performance.now();
      socket.write(requests[nextRequest++ % requests.length] as Buffer);
    };
    socket.on("connect", send);
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed a connection")));
    socket.on("data", (chunk) => {
      if (missingBytes < 0) {
        const all = head === undefined ? chunk : Buffer.concat([head, chunk]);
        const end = all.indexOf("\r\n\r\n");
        head = end < 0 ? all : undefined;
        if (end < 0) return;
        const header = all.toString("latin1", 0, end);
        if (!header.startsWith("HTTP/1.1 200")) return void reject(new Error(`unexpected response: ${all.toString("utf8").slice(0, 600)}`));
        const length = /content-length: (\d+)/i.exec(header)?.[1];
        // Without Content-Length the body is chunked and ends with an empty chunk.
        missingBytes = length === undefined ? missingInChunked(all) : Number(length) - (all.length - end - 4);
        isChunked = length === undefined;
      } else {
        missingBytes = isChunked ? missingInChunked(chunk) : missingBytes - chunk.length;
      }
      if (missingBytes > 0) return;
      run.record(performance.now() - started);
      send();
    });
  });
}

/** 0 after the last chunk, otherwise 1. Sufficient for JSON, which cannot end like the last chunk (RFC 9112 §7.1). */
function missingInChunked(received: Buffer): 0 | 1 {
  return received.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) ? 0 : 1;
}
