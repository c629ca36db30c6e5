/** Clients for raw sockets, HTTP/2 streams, and gRPC by grpc-js. */
import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect, type Socket } from "node:net";
import { create, type DescMethodUnary, fromBinary, type Message, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type CallOptions, Client, type ClientUnaryCall, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";

/** Sends `text`. @returns everything that the server sends until it closes the connection */
export async function talk(port: number, text: string | Buffer): Promise<string> {
  const socket = openSocket(port);
  socket.write(text);
  return untilClosed(socket);
}

export function openSocket(port: number): Socket {
  return connect({ port, host: "127.0.0.1" }).on("error", () => {});
}

export function untilClosed(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk) => {
      text += chunk;
    });
    socket.once("close", () => resolve(text));
  });
}

/** Unlike events.once, does not reject on an earlier error. */
export function closed(emitter: { once(event: "close", listener: () => void): unknown }): Promise<void> {
  return new Promise((resolve) => void emitter.once("close", resolve));
}

export interface Http2Answer {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends one request on an HTTP/2 connection. Rejects if the stream is reset. */
export function requestHttp2(session: ClientHttp2Session, headers: Record<string, string>, body?: Uint8Array): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined });
    const chunks: Buffer[] = [];
    let answered: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream.on("response", (received) => {
      answered = received;
    });
    stream.on("trailers", (received) => {
      trailers = received;
    });
    stream.on("data", (chunk) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () => {
      if (stream.rstCode === 0) resolve({ headers: answered, trailers, body: Buffer.concat(chunks) });
      else reject(new Error(`the stream was reset with ${stream.rstCode}`));
    });
    if (body !== undefined) stream.end(body);
  });
}

/** @param localAddress of the client, to be another one for the server */
export function openHttp2(port: number, localAddress = "127.0.0.1"): ClientHttp2Session & AsyncDisposable {
  const createConnection = () => connect({ port, host: "127.0.0.1", localAddress });
  const session = connectHttp2(`http://127.0.0.1:${port}`, { createConnection }).on("error", () => {});
  return Object.assign(session, { [Symbol.asyncDispose]: async () => session.destroy() });
}

/** Sends requests for `/x` over HTTP/2, in one chunk with a reset after each. Resolves when the server has closed the connection. */
export async function resetRequests(port: number, count: number): Promise<void> {
  const socket = openSocket(port);
  socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), http2Frame(4, 0, 0)]));
  await once(socket, "data");
  // GET and http by their indexes in HPACK's static table, then a literal path and authority.
  const headers = [0x82, 0x86, 0x04, 2, 0x2f, 0x78, 0x01, 1, 0x68];
  const frames: Buffer[] = [];
  for (let stream = 1; stream < 2 * count; stream += 2)
    frames.push(http2Frame(1, 5, stream, headers), http2Frame(3, 0, stream, [0, 0, 0, 8]));
  socket.write(Buffer.concat(frames));
  await untilClosed(socket);
}

/** @param payload of at most 255 bytes */
function http2Frame(type: number, flags: number, stream: number, payload: readonly number[] = []): Buffer {
  const head = Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, 0]);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, Buffer.from(payload)]);
}

export class GrpcClient implements Disposable {
  readonly client: Client;

  constructor(port: number, secure = credentials.createInsecure()) {
    this.client = new Client(`127.0.0.1:${port}`, secure, { "grpc.ssl_target_name_override": "localhost" });
  }

  /** @param name calls the service by this name */
  async call<M extends DescMethodUnary>(
    method: M,
    request: MessageInitShape<M["input"]>,
    options: GrpcCallOptions = {},
  ): Promise<Message & Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      const call = this.client.makeUnaryRequest(
        `/${options.service ?? method.parent.typeName}/${options.method ?? method.name}`,
        (message: Message) => Buffer.from(toBinary(method.input, message as never)),
        (bytes) => fromBinary(method.output, bytes) as Message & Record<string, unknown>,
        create(method.input, request as never) as Message,
        options.metadata ?? new Metadata(),
        options,
        (error: ServiceError | null, answer) => (error === null ? resolve(answer as Message & Record<string, unknown>) : reject(error)),
      );
      options.onCall?.(call);
    });
  }

  [Symbol.dispose](): void {
    this.client.close();
  }
}

interface GrpcCallOptions extends CallOptions {
  readonly service?: string;
  readonly method?: string;
  readonly metadata?: Metadata;
  readonly onCall?: (call: ClientUnaryCall) => void;
}
