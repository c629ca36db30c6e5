/** Makes unary gRPC calls one after the other, to learn the answers that a bare server sends. */
import { type ClientHttp2Session, connect } from "node:http2";

export interface GrpcMethod {
  readonly path: string;
  readonly token: string;
}

/** @returns the answers, with their length prefixes */
export async function postGrpc(port: number, method: GrpcMethod, messages: readonly Uint8Array[]): Promise<Buffer[]> {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    const answers: Buffer[] = [];
    for (const message of messages) answers.push(await post(session, method, message));
    return answers;
  } finally {
    session.close();
  }
}

async function post(session: ClientHttp2Session, { path, token }: GrpcMethod, message: Uint8Array): Promise<Buffer> {
  const authorization = `Bearer ${token}`;
  const stream = session.request({ ":method": "POST", ":path": path, te: "trailers", "content-type": "application/grpc", authorization });
  stream.end(framed(message));
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  if (chunks.length === 0) throw new Error(`the call of ${path} failed`);
  return Buffer.concat(chunks);
}

/** A gRPC message with its length prefix. */
export function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
