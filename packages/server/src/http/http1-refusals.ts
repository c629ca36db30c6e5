/** Refuses HTTP/1.1 requests that no handler gets to see, and closes their connections. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { closeInStages, discardInput } from "./close-in-stages.ts";
import { COMMON_HEADERS } from "./http-exchange.ts";

/** A request that is not complete in time. Node reports the same code for late headers. */
export const LATE: NodeJS.ErrnoException = Object.assign(new Error("the request took too long"), { code: "ERR_HTTP_REQUEST_TIMEOUT" });

const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Content Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

const REFUSAL_HEADERS = Object.entries({ ...COMMON_HEADERS, connection: "close", "content-length": "0" })
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join("");

/** Refuses a request whose headers could be parsed. */
export function refuseRequest(response: ServerResponse, status: number): void {
  response.writeHead(status, { ...COMMON_HEADERS, connection: "close", "content-length": 0 }).end();
}

/**
 * Refuses a malformed or late request once the pipelined requests before it are answered.
 * @param responses of the connection that are not complete, oldest first
 */
export function refuseInTurn(error: NodeJS.ErrnoException, socket: Socket, responses: readonly ServerResponse[]): void {
  const refused = responses.find((response) => !response.req.complete);
  const earlier = responses.filter((response) => response !== refused);
  if (earlier.length === 0) return void refuse(error, socket, refused);
  discardInput(socket);
  earlier.at(-1)?.once("close", () => refuse(error, socket, refused));
}

/**
 * Sends a short response to a malformed or late request, and closes its connection.
 * @param response of the request, if its headers were in order
 */
function refuse(error: NodeJS.ErrnoException, socket: Socket, response: ServerResponse | undefined): void {
  if (socket.writableEnded) return;
  // Nothing can be inserted into a response that is partly sent.
  if (!socket.writable || response?.headersSent || error.code === "ECONNRESET") return void socket.destroy();
  socket.write(`HTTP/1.1 ${REFUSALS[error.code ?? ""] ?? "400 Bad Request"}\r\n${REFUSAL_HEADERS}\r\n`);
  closeInStages(socket);
}
