/** How long a request's body may take: as a whole at first, and without a pause too long once somebody has said that it may be large. */
import { constants } from "node:http2";
import type { Socket } from "node:net";
import type { HttpRequest } from "./http-exchange.ts";

/** How long a client may still send after it was refused. */
const LINGER_MS = 5_000;

/** What bounds a body as a whole; `http1-server.ts` and `http2-server.ts` set it, by the object that carries the body. */
const timers = new WeakMap<object, NodeJS.Timeout>();

/** How long a connection may stand still when nobody has said anything of it. */
const usualTimeouts = new WeakMap<Socket, number>();

interface Carrier {
  once(event: "end" | "close", listener: () => void): unknown;
}

/** Calls `onLate` unless the body has ended by then. */
export function limitTime(carrier: Carrier, ms: number, onLate: () => void): void {
  const timer = setTimeout(onLate, ms);
  timers.set(carrier, timer);
  const clear = () => clearTimeout(timer);
  carrier.once("end", clear);
  carrier.once("close", clear);
}

/** For who was refused: it gets the time to read the answer, and not to send for as long as it likes. */
export function cutOffSoon(request: HttpRequest): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), LINGER_MS).unref();
  request.once("end", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
}

/**
 * The body may take as long as it comes without a pause of `idleMs`, and so may the answer. Only for who may send that much: it
 * holds a connection for as long as a client likes.
 */
export function allowLongBody(request: HttpRequest, idleMs: number): void {
  const carrier = "stream" in request ? request.stream : request;
  clearTimeout(timers.get(carrier));
  if ("stream" in request) {
    // Without a code it would wait for the client to take what is left.
    request.stream.setTimeout(idleMs, () => request.stream.close(constants.NGHTTP2_CANCEL));
    return;
  }
  const { socket } = request;
  const usual = usualTimeouts.get(socket) ?? socket.timeout ?? 0;
  usualTimeouts.set(socket, usual);
  const onIdle = () => void socket.destroy();
  socket.setTimeout(idleMs, onIdle);
  // The connection goes on to other requests, and to idling between them.
  request.once("close", () => {
    socket.removeListener("timeout", onIdle);
    if (socket.timeout === idleMs) socket.setTimeout(usual);
  });
}
