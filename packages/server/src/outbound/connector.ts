/**
 * Opens the sockets of client.ts, only to allowed addresses. It checks the resolved addresses and the socket's peer.
 */
import { isIP, type LookupFunction, type Socket } from "node:net";
import { buildConnector } from "undici";
import type { AddressPolicy } from "./address.ts";
import { OutboundError } from "./error.ts";
import { lookUpName, type Resolve } from "./name-lookup.ts";
import { acceptContinue } from "./unasked-continue.ts";

const MAX_READ_BYTES = 2048;

export interface ConnectorOptions {
  readonly policy: AddressPolicy;
  /** For a connection. */
  readonly timeoutMs: number;
  /** Bytes of the answer to one request, with its headers and framing. */
  readonly maxAnswerBytes: number;
  readonly resolve?: Resolve | undefined;
}

/**
 * Each connection uses the resolver's answer that was checked, so DNS rebinding cannot bypass the check. Plain http
 * goes only to addresses that the operator allows explicitly.
 */
export function createConnector(options: ConnectorOptions): buildConnector.connector {
  const secure = guard(options.policy.isAllowed, options);
  const plain = guard(options.policy.isOperatorAllowed, options);
  return (wanted, callback) => (wanted.protocol === "https:" ? secure : plain)(wanted, callback);
}

function guard(
  isAllowed: (address: string) => boolean,
  { timeoutMs: timeout, maxAnswerBytes, resolve = lookUpName }: ConnectorOptions,
): buildConnector.connector {
  const connect = buildConnector({ timeout, lookup: filteredLookup(isAllowed, resolve), maxCachedSessions: 100 });
  return (options, callback) => {
    const literal = options.hostname.replace(/^\[|\]$/g, "");
    // Literal addresses are not looked up.
    if (isIP(literal) !== 0 && !isAllowed(literal)) return callback(denied(options.hostname), null);
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null);
      if (isAllowed(socket.remoteAddress ?? ""))
        return callback(null, limitReads(acceptContinue(socket), maxAnswerBytes, options.host ?? options.hostname));
      socket.destroy();
      callback(denied(options.hostname), null);
    });
  };
}

/**
 * Undici parses all bytes of a read, also after headers above its limit have made it close the socket, and then creates an error for each
 * further header. So a read returns few bytes, and none after the end of the socket.
 *
 * Undici has no limit on bytes outside of headers and bodies, such as a reason phrase or empty lines. So an answer of more than `maxBytes`
 * ends the connection. A write begins the next request.
 */
function limitReads<Connection extends Socket>(socket: Connection, maxBytes: number, host: string): Connection {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let received = 0;
  socket.read = (size) => {
    if (socket.destroyed) return null;
    const bytes = read(size ?? (Math.min(socket.readableLength, MAX_READ_BYTES) || undefined)) as Buffer | null;
    received += bytes?.length ?? 0;
    if (received <= maxBytes) return bytes;
    socket.destroy(new OutboundError("too_large", `${host} answered more than ${maxBytes} bytes`));
    return null;
  };
  socket.write = (...args: unknown[]) => {
    received = 0;
    return write(...args);
  };
  return socket;
}

function filteredLookup(isAllowed: (address: string) => boolean, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { all: true }, (error, addresses) => {
      if (error !== null) return callback(new OutboundError("dns", `${hostname} cannot be resolved`, { cause: error }), "", 0);
      const allowed = addresses.filter(({ address }) => isAllowed(address));
      const [first] = allowed;
      if (first === undefined) return callback(denied(hostname), "", 0);
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

function denied(hostname: string): OutboundError {
  return new OutboundError("address", `${hostname} has no address that this server may connect to`);
}
