/** The least that node:http can do with files: it streams the one that a request names. In a process of its own, told the folder by its parent. */
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

/** As much as Holt reads at once: with Node's own 64 KiB it is slower for one client, and the same for many. */
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
