/** Closes HTTP/1.1 connections so that the client can read the last response (RFC 9112 §9.6). */
import type { Socket } from "node:net";

/** How long a client may take to close its side. */
const LINGER_MS = 5_000;

const discard = (): void => {};

/**
 * Sends the remaining bytes and closes the sending side, then discards what arrives until the client closes its side. Closing both sides at
 * once would reset the connection if the client has sent more, and the client would lose responses that it has not read yet.
 */
export function closeInStages(socket: Socket): void {
  if (socket.destroyed || socket.writableEnded) return;
  discardInput(socket);
  socket.end(() => {
    // The socket destroys itself once both sides are closed.
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once("close", () => clearTimeout(timer));
  });
}

/** Serves no further requests of the connection, and reads on, so that the client can send what it has begun to send. */
export function discardInput(socket: Socket): void {
  // Takes the bytes from the parser of node:http.
  socket.removeAllListeners("data").on("data", discard);
  socket.resume();
}
