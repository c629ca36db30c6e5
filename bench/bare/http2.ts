/** A minimal node:http2 gRPC server that responds to every call with the same message, which it receives from its parent process. */
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";

process.on("message", ({ body }: { body: string }) => {
  const bytes = Buffer.from(body, "base64");
  const server = createServer();
  server.on("stream", (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.resume();
    stream.end(bytes);
  });
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
});
