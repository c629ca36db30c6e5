/** Clients for requests that libraries refuse to send: pipelined HTTP/1.1, gRPC on HTTP/2 streams, and raw bytes. */
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect, type Socket } from "node:net";
import { PATIENCE_MS } from "../wait.ts";
import type { GrpcRequest, RestRequest } from "./fuzz-requests.ts";

export interface RestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface GrpcAnswer {
  readonly httpStatus: number;
  /** Undefined if the answer is not gRPC. */
  readonly status: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The error code of a stream that was reset. */
  readonly reset: number;
}

/** Sends pipelined requests, up to `depth` at once. Rejects if one is not answered. */
export async function pipeline(
  port: number,
  requests: Iterator<RestRequest>,
  depth: number,
  onAnswer: (request: RestRequest, answer: RestAnswer) => void,
): Promise<void> {
  let left: RestRequest[] = [];
  for (;;) {
    const result = await converse(port, requests, left, depth, onAnswer);
    if (result === undefined) return;
    left = result;
  }
}

/** Sends requests on one connection. Resolves with the requests that the server did not accept before it closed the connection. */
function converse(
  port: number,
  requests: Iterator<RestRequest>,
  again: readonly RestRequest[],
  depth: number,
  onAnswer: (request: RestRequest, answer: RestAnswer) => void,
): Promise<RestRequest[] | undefined> {
  return new Promise((resolve, reject) => {
    const waiting: RestRequest[] = [];
    const queue = [...again];
    let buffer: Buffer = Buffer.alloc(0);
    let isOver = false;
    let isClosing = false;
    const socket: Socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const fail = (why: string) => {
      finish();
      reject(new Error(`${why}, after ${describeRest(waiting[0])}`));
    };
    let timer = setTimeout(() => fail("no answer in time"), PATIENCE_MS);
    const finish = () => {
      isOver = true;
      clearTimeout(timer);
      socket.destroy();
    };
    const fill = () => {
      const texts: Buffer[] = [];
      while (waiting.length < depth && !isClosing) {
        const next = queue.shift() ?? (requests.next().value as RestRequest | undefined);
        if (next === undefined) break;
        waiting.push(next);
        texts.push(encodeRequest(next));
      }
      if (texts.length > 0) socket.write(Buffer.concat(texts));
      if (waiting.length === 0 && !isOver) {
        finish();
        resolve(isClosing ? [...queue] : undefined);
      }
    };
    let reason = "";
    socket.on("connect", fill).on("error", (error) => (reason = ` (${error.message})`));
    socket.on("data", (chunk: Buffer) => {
      buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk]);
      try {
        for (;;) {
          const parsed = parseAnswer(buffer, waiting[0]?.verb ?? "");
          if (parsed === undefined) break;
          buffer = buffer.subarray(parsed.length);
          if (parsed.answer.status < 200) continue;
          const request = waiting.shift();
          if (request === undefined) throw new Error("an answer nobody asked for");
          timer.refresh();
          if (parsed.answer.headers.connection?.toLowerCase() === "close") isClosing = true;
          onAnswer(request, parsed.answer);
          if (isClosing) {
            finish();
            resolve([...waiting, ...queue]);
            return;
          }
        }
      } catch (error) {
        finish();
        reject(error);
        return;
      }
      if (waiting.length <= depth / 2) fill();
    });
    socket.on("close", () => {
      if (!isOver) fail(`the connection was closed without an answer${reason}`);
    });
    timer = timer.refresh();
  });
}

export function encodeRequest({ verb, target, headers, body }: RestRequest): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = body === undefined ? "" : `content-length: ${body.length}\r\n`;
  const head = Buffer.from(`${verb} ${target} HTTP/1.1\r\n${lines.join("")}${length}\r\n`, "latin1");
  return body === undefined ? head : Buffer.concat([head, body]);
}

export function describeRest(request: RestRequest | undefined): string {
  return request === undefined ? "nothing" : JSON.stringify(encodeRequest(request).toString("latin1").slice(0, 3000));
}

/** Parses the first answer in the buffer and its length; undefined while it is incomplete. */
export function parseAnswer(buffer: Buffer, verb: string): { answer: RestAnswer; length: number } | undefined {
  const end = buffer.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [line = "", ...fields] = buffer.subarray(0, end).toString("latin1").split("\r\n");
  const match = /^HTTP\/1\.1 (\d{3}) /.exec(line);
  if (match === null) throw new Error(`no answer of HTTP: ${line}`);
  const headers: Record<string, string> = {};
  for (const field of fields) {
    const colon = field.indexOf(":");
    headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim();
  }
  const status = Number(match[1]);
  const begin = end + 4;
  const answer = (text: string, length: number) => ({ answer: { status, headers, text }, length });
  if (verb === "HEAD" || status < 200 || status === 204 || status === 304) return answer("", begin);
  if (headers["transfer-encoding"] === "chunked") {
    const body = parseChunks(buffer, begin);
    return body && answer(body.text, body.end);
  }
  const length = Number(headers["content-length"]);
  if (!Number.isInteger(length)) throw new Error(`an answer without a length: ${line} ${JSON.stringify(headers)}`);
  if (buffer.length < begin + length) return undefined;
  return answer(buffer.toString("utf8", begin, begin + length), begin + length);
}

function parseChunks(buffer: Buffer, begin: number): { text: string; end: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = begin; ; ) {
    const line = buffer.indexOf("\r\n", at);
    if (line < 0) return undefined;
    const size = Number.parseInt(buffer.toString("latin1", at, line), 16);
    if (buffer.length < line + 2 + size + 2) return undefined;
    parts.push(buffer.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
    if (size === 0) return { text: Buffer.concat(parts).toString("utf8"), end: at };
  }
}

export function openSession(port: number): ClientHttp2Session {
  return connectHttp2(`http://127.0.0.1:${port}`).on("error", () => {});
}

/** Rejects if no answer arrives in time. */
export function callGrpc(session: ClientHttp2Session, { headers, body }: GrpcRequest): Promise<GrpcAnswer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: false });
    const timer = setTimeout(() => {
      stream.destroy();
      reject(new Error(`no answer in time to ${JSON.stringify(headers)} ${body.toString("hex").slice(0, 3000)}`));
    }, PATIENCE_MS);
    let answered: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.on("response", (received) => (answered = received));
    stream.on("trailers", (received) => (trailers = received));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", () => {});
    stream.on("close", () => {
      clearTimeout(timer);
      const all = { ...answered, ...trailers };
      const status = all["grpc-status"] ?? /grpc-status: ?(\d+)/i.exec(Buffer.concat(chunks).toString("latin1"))?.[1];
      resolve({
        httpStatus: Number(answered[":status"] ?? 0),
        status: status as string | undefined,
        headers: all,
        text: Buffer.concat(chunks).toString("utf8"),
        reset: stream.rstCode,
      });
    });
    stream.end(body);
  });
}

/** Sends the bytes and ends its side. @returns the complete answer; rejects if the server does not close the connection */
export function sendBytes(port: number, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(
        new Error(
          `the server keeps the connection of a client that has left, after ${JSON.stringify(bytes.toString("latin1").slice(0, 3000))}`,
        ),
      );
    }, PATIENCE_MS);
    socket.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => {});
    socket.on("end", () => socket.destroy());
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks));
    });
    socket.end(bytes);
  });
}
