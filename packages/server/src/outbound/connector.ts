/** Opens the sockets of client.ts, to allowed addresses only: what a name resolves to is filtered, and the peer of the socket is looked at again. */
import { isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";
import type { AddressPolicy } from "./address.ts";
import { OutboundError } from "./error.ts";
import { lookUpName, type Resolve } from "./name-lookup.ts";

/**
 * Resolving and connecting use one and the same answer of the resolver, so a name that changes its address in between (DNS rebinding)
 * gains nothing. Plain HTTP goes only to addresses that the operator named.
 */
export function createConnector(policy: AddressPolicy, connectTimeoutMs: number, resolve: Resolve = lookUpName): buildConnector.connector {
  const secure = guard(policy.isAllowed, connectTimeoutMs, resolve);
  const plain = guard(policy.isOperatorAllowed, connectTimeoutMs, resolve);
  return (options, callback) => (options.protocol === "https:" ? secure : plain)(options, callback);
}

function guard(isAllowed: (address: string) => boolean, timeout: number, resolve: Resolve): buildConnector.connector {
  const connect = buildConnector({ timeout, lookup: filteredLookup(isAllowed, resolve), maxCachedSessions: 100 });
  return (options, callback) => {
    const literal = options.hostname.replace(/^\[|\]$/g, "");
    // No lookup happens for a literal address.
    if (isIP(literal) !== 0 && !isAllowed(literal)) return callback(denied(options.hostname), null);
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null);
      if (isAllowed(socket.remoteAddress ?? "")) return callback(null, socket);
      socket.destroy();
      callback(denied(options.hostname), null);
    });
  };
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
  return new OutboundError("address", `${hostname} is not at an address that this server may connect to`);
}
