/** Clients that ask for an answer and read only as much of it as a test wants. */
import { once } from "node:events";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2";
import { connect as connectSocket, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { openSocket } from "./raw-clients.ts";

export interface UnreadAnswer {
  readonly status: number;
  /** The head, and the first bytes of the body. */
  readonly text: string;
  readonly socket: Socket;
}

/** Resolves when the answer begins, and reads nothing more. */
export async function askAndStop(port: number, path: string, headers: Readonly<Record<string, string>> = {}): Promise<UnreadAnswer> {
  const socket = openSocket(port);
  const lines = Object.entries({ host: "h", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  const [first] = (await once(socket, "data")) as [Buffer];
  socket.pause();
  const text = first.toString("latin1");
  return { status: Number(text.slice(9, 12)), text, socket };
}

/** An HTTP/2 connection whose streams have no window: the server can send headers only, so nothing of a body leaves it. */
export function openWithoutWindow(port: number): ClientHttp2Session & AsyncDisposable {
  const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } }).on("error", () => {});
  return Object.assign(session, { [Symbol.asyncDispose]: async () => session.destroy() });
}

/** Resolves when the headers have come. */
export async function headersOf(session: ClientHttp2Session, headers: Readonly<Record<string, string>>): Promise<IncomingHttpHeaders> {
  const stream = session.request(headers).on("error", () => {});
  stream.end();
  const [received] = (await once(stream, "response")) as [IncomingHttpHeaders];
  return received;
}

export interface StoppableSession {
  readonly session: ClientHttp2Session;
  readonly socket: Socket;
  /** From now on, the client takes no byte from the connection. */
  stop(): void;
}

/** An HTTP/2 connection that a test can stop reading altogether. */
export async function openStoppable(port: number): Promise<StoppableSession> {
  const socket = connectSocket(port, "127.0.0.1").on("error", () => {});
  await once(socket, "connect");
  const between = new Duplex({
    read: () => void socket.resume(),
    write: (chunk: Buffer, _encoding, done) => void socket.write(chunk, done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  let isStopped = false;
  socket.on("data", (chunk: Buffer) => {
    if (!isStopped && !between.push(chunk)) socket.pause();
  });
  const session = connect(`http://127.0.0.1:${port}`, { createConnection: () => between }).on("error", () => {});
  const stop = () => {
    isStopped = true;
    socket.pause();
    socket.resume = () => socket;
  };
  return { session, socket, stop };
}
