/**
 * Load generator for gRPC, run in its own process: several concurrent unary calls per connection. It writes frames and
 * header compression by hand (RFC 9113, RFC 7541), because a full client would become the bottleneck.
 */
import { connect, type Socket } from "node:net";
import { framed } from "./grpc-calls.ts";
import { indexedHeaders, literalHeaders } from "./hpack.ts";
import { type LoadSpec, measure, type Run } from "./worker.ts";

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const FRAME_HEADER_BYTES = 9;
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/** Identifier of the setting for the initial window of a stream. */
const INITIAL_WINDOW_SIZE = 4;
const LARGEST_WINDOW = 0x7fffffff;

measure(async (spec, run) => {
  await Promise.all(Array.from({ length: spec.connections }, (_, i) => connection(spec, i, run)));
});

interface Call {
  readonly started: number;
  receivedBytes: number;
}

function connection(spec: LoadSpec, index: number, run: Run): Promise<void> {
  const { port, path = "/", token = "", streams = 1 } = spec;
  const messages = spec.requests.map((message) => framed(Buffer.from(message, "base64")));
  const headers = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", `127.0.0.1:${port}`],
    ["te", "trailers"],
    ["content-type", "application/grpc"],
    ["authorization", `Bearer ${token}`],
  ] as const;
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const calls = new Map<number, Call>();
  let block = literalHeaders(headers);
  let id = 1;
  let nextRequest = index * 7919;

  function call(): void {
    const message = messages[nextRequest++ % messages.length] as Buffer;
    calls.set(id, { started: performance.now(), receivedBytes: 0 });
    socket.write(Buffer.concat([frame(HEADERS, END_HEADERS, id, block), frame(DATA, END_STREAM, id, message)]));
    // All headers are in the connection's dynamic table now.
    block = indexedHeaders(headers.length);
    id += 2;
  }

  return new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed a connection")));
    socket.on("connect", () => {
      socket.write(connectionPreface());
      for (let i = 0; i < streams; i++) call();
    });
    const finish = (stream: number) => {
      const ended = calls.get(stream);
      if (ended === undefined) return;
      calls.delete(stream);
      if (ended.receivedBytes === 0) return reject(new Error("a call failed"));
      run.record(performance.now() - ended.started);
      if (!run.isOver()) call();
      else if (calls.size === 0) socket.end(resolve);
    };
    readFrames(socket, (type, flags, stream, payload) => {
      if (type === SETTINGS && (flags & ACK) === 0) socket.write(frame(SETTINGS, ACK, 0));
      else if (type === PING && (flags & ACK) === 0) socket.write(frame(PING, ACK, 0, payload));
      else if (type === GOAWAY || type === RST_STREAM) reject(new Error(`the server ended a ${type === GOAWAY ? "connection" : "stream"}`));
      else if (type === DATA && calls.has(stream)) calls.get(stream)!.receivedBytes += payload.length;
      if ((type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0) finish(stream);
    });
  });
}

/** The connection preface, with windows so large that they never need an update. */
function connectionPreface(): Buffer {
  const settings = Buffer.alloc(6);
  settings.writeUInt16BE(INITIAL_WINDOW_SIZE, 0);
  settings.writeUInt32BE(LARGEST_WINDOW, 2);
  const window = Buffer.alloc(4);
  window.writeUInt32BE(LARGEST_WINDOW - 65_535, 0);
  return Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0, settings), frame(WINDOW_UPDATE, 0, 0, window)]);
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array(0)): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, FRAME_HEADER_BYTES);
  return bytes;
}

function readFrames(socket: Socket, onFrame: (type: number, flags: number, stream: number, payload: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      onFrame(bytes[at + 3]!, bytes[at + 4]!, bytes.readUInt32BE(at + 5), bytes.subarray(at + FRAME_HEADER_BYTES, end));
      at = end;
    }
    rest = bytes.subarray(at);
  });
}
