/** Limits the duration of a request's body: as a whole by default, or only its pauses once a handler has allowed a long body. */
import { constants } from "node:http2";
import type { Socket } from "node:net";
import type { HttpRequest, HttpResponse } from "./http-exchange.ts";

/** How long a client may go on sending after its request was refused. */
const LINGER_MS = 5_000;

/** The timers for whole bodies, by the object that carries the body. `http1-server.ts` and `http2-server.ts` start them. */
const timers = new WeakMap<object, NodeJS.Timeout>();

/** The idle timeouts that connections had before a long body. */
const usualTimeouts = new WeakMap<Socket, number>();

interface Carrier {
  once(event: "end" | "close", listener: () => void): unknown;
}

/** Calls `onLate` unless the body has ended by then. */
export function limitTime(carrier: Carrier, ms: number, onLate: () => void): void {
  const timer = setTimeout(onLate, ms).unref();
  timers.set(carrier, timer);
  const clear = () => clearTimeout(timer);
  carrier.once("end", clear);
  carrier.once("close", clear);
}

/** Ends a request that was refused. Once the response is sent, its client has a few seconds to read it, but cannot go on sending. */
export function cutOffSoon(request: HttpRequest, response: HttpResponse): void {
  if (request.complete) return;
  // Pipelined responses are sent after the earlier ones.
  response.once("finish", () => {
    if (request.complete) return;
    const timer = setTimeout(() => request.destroy(), LINGER_MS).unref();
    request.once("end", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
  });
}

/**
 * Lets the body and the response take as long as they need, provided that no pause exceeds `idleMs`. Call it for authorized clients
 * only, since it lets them hold a connection for as long as they like.
 */
export function allowLongBody(request: HttpRequest, idleMs: number): void {
  const carrier = "stream" in request ? request.stream : request;
  clearTimeout(timers.get(carrier));
  if ("stream" in request) {
    // Without a code, closing would wait until the client has read the rest.
    request.stream.setTimeout(idleMs, () => request.stream.close(constants.NGHTTP2_CANCEL));
    return;
  }
  const { socket } = request;
  const usual = usualTimeouts.get(socket) ?? socket.timeout ?? 0;
  usualTimeouts.set(socket, usual);
  const onIdle = () => void socket.destroy();
  socket.setTimeout(idleMs, onIdle);
  // The connection goes on to serve other requests, with its usual timeout.
  request.once("close", () => {
    socket.removeListener("timeout", onIdle);
    if (socket.timeout === idleMs) socket.setTimeout(usual);
  });
}
