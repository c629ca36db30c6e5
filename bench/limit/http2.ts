/** A node:http2 gRPC server that runs the statement of a plan, and sends the answer that its parent process gave it for the request. */
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import type { GetPlan, ListPlan } from "./plan.ts";
import { prepareQuery, then } from "./query.ts";

process.on("message", (plan: GetPlan | ListPlan) => {
  const query = prepareQuery(plan.target, plan.sql);
  const calls = new Map(
    (plan.calls ?? []).map(({ request, uid, answer }) => {
      const values = plan.kind === "get" ? [uid] : plan.values;
      return [Buffer.from(request, "base64").toString("latin1"), { values, answer: Buffer.from(answer, "base64") }];
    }),
  );
  const server = createServer();
  server.on("stream", (stream) => {
    let request = "";
    stream.on("data", (chunk: Buffer) => (request += chunk.toString("latin1")));
    stream.on("end", () => {
      const call = calls.get(request);
      if (call === undefined) return stream.close();
      return then(query(call.values), () => send(stream, call.answer));
    });
  });
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
});

function send(stream: ServerHttp2Stream, answer: Uint8Array): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(answer);
}
