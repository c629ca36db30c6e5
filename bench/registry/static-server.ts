/** A minimal node:http file server that streams the requested file. It receives its folder from the parent process. */
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

/** The read size of Holt. Node's default of 64 KiB is slower for one client and equally fast for many. */
const READ_SIZE = 256 * 1024;

process.on("message", ({ folder }: { folder: string }) => {
  const server = createServer((request, response) => {
    const path = join(folder, request.url ?? "");
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": statSync(path).size });
    createReadStream(path, { highWaterMark: READ_SIZE }).pipe(response);
  });
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
});
