/**
 * Load over HTTP/1.1, in a process of its own: connections that each send a request, wait for the whole answer and send the
 * next. Plain sockets, because a client that does more would be the limit of what it measures.
 */
import { connect } from "node:net";
import { type LoadSpec, measure } from "./worker.ts";

measure(async ({ port, connections, requests }: LoadSpec, run) => {
  const bytes = requests.map((request) => Buffer.from(request, "base64"));
  await Promise.all(Array.from({ length: connections }, (_, i) => client(port, bytes, i, run)));
});

const LAST_PIECE = Buffer.from("0\r\n\r\n");

/** Resolves when the run is over. */
function client(
  port: number,
  requests: readonly Buffer[],
  first: number,
  run: Parameters<Parameters<typeof measure>[0]>[1],
): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  return new Promise((resolve, reject) => {
    let turn = first * 7919;
    let started = 0;
    let missing = -1;
    let inPieces = false;
    let head: Buffer | undefined;
    const send = () => {
      if (run.isOver()) return void socket.end(resolve);
      missing = -1;
      started = performance.now();
      socket.write(requests[turn++ % requests.length] as Buffer);
    };
    socket.on("connect", send);
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed a connection")));
    socket.on("data", (chunk) => {
      if (missing < 0) {
        const all = head === undefined ? chunk : Buffer.concat([head, chunk]);
        const end = all.indexOf("\r\n\r\n");
        head = end < 0 ? all : undefined;
        if (end < 0) return;
        const text = all.toString("latin1", 0, end);
        if (!text.startsWith("HTTP/1.1 200")) return void reject(new Error(`unexpected answer: ${all.toString("utf8").slice(0, 600)}`));
        const length = /content-length: (\d+)/i.exec(text)?.[1];
        // Without one, it is in pieces, and the last of them is empty.
        missing = length === undefined ? piecesMissing(all) : Number(length) - (all.length - end - 4);
        inPieces = length === undefined;
      } else {
        missing = inPieces ? piecesMissing(chunk) : missing - chunk.length;
      }
      if (missing > 0) return;
      run.record(performance.now() - started);
      send();
    });
  });
}

/** Enough of RFC 9112 §7.1 for JSON, in which nothing looks like the last piece. */
function piecesMissing(received: Buffer): 0 | 1 {
  return received.subarray(-LAST_PIECE.length).equals(LAST_PIECE) ? 0 : 1;
}
