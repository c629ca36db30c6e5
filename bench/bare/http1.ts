/** The least that node:http can do: the same bytes for every request. In a process of its own, told the body by its parent. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

process.on("message", ({ body }: { body: string }) => {
  const bytes = Buffer.from(body, "base64");
  const headers = { "content-type": "application/json", "content-length": bytes.length };
  const server = createServer((_request, response) => response.writeHead(200, headers).end(bytes));
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
});
