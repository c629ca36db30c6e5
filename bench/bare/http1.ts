/** A minimal node:http server that responds to every request with the same body, which it receives from its parent process. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

process.on("message", ({ body }: { body: string }) => {
  const bytes = Buffer.from(body, "base64");
  const headers = { "content-type": "application/json", "content-length": bytes.length };
  const server = createServer((_request, response) => response.writeHead(200, headers).end(bytes));
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
});
