/** Distinguishes HTTP/2 with prior knowledge from HTTP/1.1 by the first bytes of a clear-text connection, and puts these bytes back. */
import type { Socket } from "node:net";

/** RFC 9113 §3.4. No HTTP/1.1 request begins with these bytes. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** Calls `decide` once enough bytes have arrived. Closes a connection that ends earlier, or that has sent too little after `timeoutMs`. */
export function peekProtocol(socket: Socket, timeoutMs: number, decide: (isHttp2: boolean) => void): void {
  let head = Buffer.alloc(0);
  const close = () => socket.destroy();
  const timer = setTimeout(close, timeoutMs);
  // Uses 'readable' instead of 'data', because the HTTP servers do not resume a stream that was paused.
  const onReadable = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    head = Buffer.concat([head, chunk]);
    const mayBeHttp2 = startsAlike(head, PREFACE);
    if (mayBeHttp2 && head.length < PREFACE.length) return;
    clearTimeout(timer);
    socket.off("readable", onReadable).off("end", close);
    socket.unshift(head);
    decide(mayBeHttp2);
  };
  socket
    .on("readable", onReadable)
    .once("end", close)
    .once("close", () => clearTimeout(timer));
}

function startsAlike(a: Buffer, b: Buffer): boolean {
  const length = Math.min(a.length, b.length);
  return a.subarray(0, length).equals(b.subarray(0, length));
}
