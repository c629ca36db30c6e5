/** A minimal webhook sink in its own process. It counts deliveries and their delays, and reports them to its parent on request. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface SinkReport {
  /** Number of requests, except those whose path begins with /dead. */
  readonly count: number;
  readonly bytes: number;
  /** Milliseconds from an event's time to its arrival, for each event since the last report. */
  readonly delays: readonly number[];
}

let count = 0;
let bytes = 0;
let delays: number[] = [];

const server = createServer((request, response) => {
  const { url = "", headers } = request;
  request.on("data", (chunk: Buffer) => (bytes += chunk.length));
  request.on("end", () => {
    // A dead sink accepts connections but never responds.
    if (url.startsWith("/dead")) return;
    count++;
    delays.push(Date.now() - Date.parse(String(headers["ce-time"])));
    response.writeHead(204).end();
  });
});
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));

process.on("message", (question: "report" | "reset") => {
  const report: SinkReport = { count, bytes, delays };
  delays = [];
  if (question === "reset") {
    count = 0;
    bytes = 0;
  }
  process.send?.({ report });
});
