/** The thread of metered-client.ts: sends requests, serves documents, and watches the memory of the process. */
import { once } from "node:events";
import { Agent, createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { parentPort } from "node:worker_threads";
import type { FromClient, ToClient } from "./metered-client.ts";

const SAMPLE_MS = 5;
const agent = new Agent({ keepAlive: true });
/** Documents by their paths. */
const documents = new Map<string, string>();

const server = createServer((request, response) => {
  const document = documents.get(request.url ?? "");
  response.writeHead(document === undefined ? 404 : 200, { "content-type": "application/json" }).end(document);
});

parentPort?.on("message", async (message: ToClient) => {
  const post = (answer: FromClient) => parentPort?.postMessage(answer);
  if (message.kind === "serve") {
    if (!server.listening) await once(server.listen(0, "127.0.0.1"), "listening");
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const [path, document] of Object.entries(message.documents)) documents.set(path, document.replaceAll("{origin}", origin));
    post({ kind: "serving", origin });
    return;
  }
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, SAMPLE_MS);
  const { url, method, headers, body } = message;
  const request = httpRequest(url, { agent, method, headers: { ...headers, ...(body && { "content-length": body.length }) } });
  request.end(body);
  try {
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const text = (await buffer(response)).toString("utf8", 0, 2000);
    post({ kind: "answer", status: response.statusCode ?? 0, text, memoryMb: (peak - before) / 2 ** 20 });
  } catch (error) {
    post({ kind: "answer", status: 0, text: (error as Error).message, memoryMb: (peak - before) / 2 ** 20 });
  } finally {
    clearInterval(timer);
  }
});
