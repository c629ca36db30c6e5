/** The least that a webhook's sink can do: it counts what comes and says when it came. A process of its own, which its parent asks. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface SinkReport {
  /** Of the requests whose path does not begin with /dead. */
  readonly count: number;
  readonly bytes: number;
  /** Milliseconds from an event's time to its arrival, for each of them that came after the last report. */
  readonly delays: readonly number[];
}

let count = 0;
let bytes = 0;
let delays: number[] = [];

const server = createServer((request, response) => {
  const { url = "", headers } = request;
  request.on("data", (chunk: Buffer) => (bytes += chunk.length));
  request.on("end", () => {
    // A dead sink takes connections and never answers.
    if (url.startsWith("/dead")) return;
    count++;
    delays.push(Date.now() - Date.parse(String(headers["ce-time"])));
    response.writeHead(204).end();
  });
});
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));

process.on("message", (question: "report" | "forget") => {
  const report: SinkReport = { count, bytes, delays };
  delays = [];
  if (question === "forget") [count, bytes] = [0, 0];
  process.send?.({ report });
});
