import assert from "node:assert/strict";
import { it } from "node:test";
import { PingService as PingServiceV1 } from "@holt/api/gen/platform/ping/v1/ping_pb.ts";
import { PingService } from "@holt/api/gen/platform/ping/v2/ping_pb.ts";
import { answerOf } from "../harness/clients.ts";
import { describeWithWorld } from "../harness/world.ts";

describeWithWorld("ping", (world) => {
  it("ping answers pong in every version, without a token and with a valid or an invalid one", async () => {
    for (const version of ["v1", "v2beta1", "v2"]) {
      for (const headers of [
        {},
        { authorization: `Bearer ${world.owner.token}` },
        { authorization: "Bearer garbage" },
        { authorization: "nonsense" },
      ]) {
        const { status, text } = await world.http("GET", `/ping/${version}/ping`, undefined, headers as Record<string, string>);
        assert.deepEqual([status, text], [200, '{"response":"pong"}']);
      }
    }
  });

  it("ping answers pong over gRPC", async () => {
    for (const method of [PingService.method.ping, PingServiceV1.method.ping]) {
      for (const token of [undefined, world.owner.token, "garbage"])
        assert.equal(answerOf(await world.grpc.call(method, {}, token)).response, "pong");
    }
  });
});
