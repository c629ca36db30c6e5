/** The thread of metered-client.ts: sends requests, serves documents, and watches the memory of the process. */
import { once } from "node:events";
import { Agent, createServer, request as httpRequest, type IncomingMessage } from "node:http";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2";
import { type AddressInfo, createServer as createSocketServer, type Server } from "node:net";
import { buffer } from "node:stream/consumers";
import { parentPort } from "node:worker_threads";
import { talk } from "../raw-clients.ts";
import type { FromClient, ToClient } from "./metered-client.ts";

const SAMPLE_MS = 5;
const agent = new Agent({ keepAlive: true });
/** Documents by their paths. */
const documents = new Map<string, string>();

const server = createServer((request, response) => {
  const document = documents.get(request.url ?? "");
  response.writeHead(document === undefined ? 404 : 200, { "content-type": "application/json" }).end(document);
});

type Sending = Extract<ToClient, { kind: "send" }>;

async function send({ url, method, headers, body }: Sending): Promise<Answered> {
  const request = httpRequest(url, { agent, method, headers: { ...headers, ...(body && { "content-length": body.length }) } });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: (await buffer(response)).toString("utf8", 0, 2000) };
}

interface Answered {
  readonly status: number;
  readonly text: string;
}

let session: ClientHttp2Session | undefined;
/** UNKNOWN, INTERNAL and DATA_LOSS. */
const FAULTS = new Set(["2", "13", "15"]);

async function sendGrpc({ url, headers, body = new Uint8Array() }: Sending): Promise<Answered> {
  const { origin, pathname } = new URL(url);
  session ??= connect(origin).on("error", () => {});
  const framed = Buffer.concat([Buffer.alloc(5), body]);
  framed.writeUInt32BE(body.length, 1);
  const stream = session.request({ ...headers, ":method": "POST", ":path": pathname, "content-type": "application/grpc", te: "trailers" });
  let seen: IncomingHttpHeaders = {};
  const see = (more: IncomingHttpHeaders) => {
    seen = { ...seen, ...more };
  };
  stream.on("response", see).on("trailers", see).resume().end(framed);
  await once(stream, "close");
  const code = String(seen["grpc-status"]);
  return { status: code === "0" ? 200 : FAULTS.has(code) ? 500 : 400, text: `${code} ${seen["grpc-message"] ?? ""}` };
}

async function sendBytes({ url, bytes }: Extract<ToClient, { kind: "sendBytes" }>): Promise<Answered> {
  const text = (await talk(Number(new URL(url).port), Buffer.from(bytes))).slice(0, 2000);
  return { status: Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0), text };
}

async function serveBytes(bytes: Uint8Array): Promise<string> {
  const byteServer = createSocketServer((socket) => void socket.on("error", () => {}).once("data", () => socket.write(bytes)));
  await once(byteServer.listen(0, "127.0.0.1"), "listening");
  return originOf(byteServer);
}

function originOf(listening: Server): string {
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
}

async function serve(given: Readonly<Record<string, string>>): Promise<string> {
  if (!server.listening) await once(server.listen(0, "127.0.0.1"), "listening");
  const origin = originOf(server);
  for (const [path, document] of Object.entries(given)) documents.set(path, document.replaceAll("{origin}", origin));
  return origin;
}

function answerTo(message: Extract<ToClient, { kind: "send" | "sendBytes" }>): Promise<Answered> {
  if (message.kind === "sendBytes") return sendBytes(message);
  return message.isGrpc ? sendGrpc(message) : send(message);
}

parentPort?.on("message", async (message: ToClient) => {
  const post = (answer: FromClient) => parentPort?.postMessage(answer);
  if (message.kind === "serve") return post({ kind: "serving", origin: await serve(message.documents) });
  if (message.kind === "serveBytes") return post({ kind: "serving", origin: await serveBytes(message.bytes) });
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, SAMPLE_MS);
  try {
    const { status, text } = await answerTo(message);
    post({ kind: "answer", status, text, memoryMb: (peak - before) / 2 ** 20 });
  } catch (error) {
    post({ kind: "answer", status: 0, text: (error as Error).message, memoryMb: (peak - before) / 2 ** 20 });
  } finally {
    clearInterval(timer);
  }
});
