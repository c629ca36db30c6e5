/**
 * Records every attempt of this process to connect a TCP socket, where Node passes it to the operating system. Attempts at
 * addresses of other machines are recorded and refused, so that a test sends nothing to the Internet.
 */
import { createServer, type Server } from "node:net";

export interface ConnectAttempts extends Disposable {
  /** Addresses in the order of the attempts. */
  readonly all: readonly ConnectAttempt[];
  readonly addresses: readonly string[];
  forget(): void;
}

export interface ConnectAttempt {
  readonly address: string;
  readonly port: number;
}

type Connect = (request: unknown, address: string, port: number) => number;
interface TcpHandle {
  connect: Connect;
  connect6: Connect;
}

const ECONNREFUSED = -111;

/** Watches attempts until disposed; one watcher at a time. */
export async function watchConnectAttempts(): Promise<ConnectAttempts> {
  const prototype = await tcpPrototype();
  const { connect, connect6 } = prototype;
  const all: ConnectAttempt[] = [];
  const watched = (original: Connect): Connect =>
    function (this: TcpHandle, request, address, port) {
      all.push({ address, port });
      return isThisMachine(address) ? original.call(this, request, address, port) : ECONNREFUSED;
    };
  prototype.connect = watched(connect);
  prototype.connect6 = watched(connect6);
  return {
    all,
    get addresses() {
      return all.map(({ address }) => address);
    },
    forget: () => void all.splice(0),
    [Symbol.dispose]() {
      Object.assign(prototype, { connect, connect6 });
    },
  };
}

function isThisMachine(address: string): boolean {
  return address.startsWith("127.") || address === "::1";
}

/** The class that Node does not export, taken from a listening server. */
async function tcpPrototype(): Promise<TcpHandle> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { _handle } = server as Server & { _handle: TcpHandle };
  const prototype = Object.getPrototypeOf(_handle) as TcpHandle;
  await new Promise((resolve) => server.close(resolve));
  return prototype;
}
