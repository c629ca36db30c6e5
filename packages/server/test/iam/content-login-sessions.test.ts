/** Logins of package clients with a token of an identity provider, whose sessions end. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { SessionsService } from "@holt/api/gen/holt/v1/sessions_pb.ts";
import { basic } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

describeWithWorld("sessions of package clients", (world) => {
  it("a login is accepted again as soon as the session that it began has ended", async () => {
    const user = await world.user("package-client");
    const authorization = basic(user.uid, await world.proofOf("package-client"));
    const login = async () => (await world.http("GET", "/v2/", undefined, { authorization })).status;
    assert.equal(await login(), 200);
    assert.ok((await world.must(SessionsService.method.endSessions, {}, user.token)).ended > 0);
    assert.equal(await login(), 200);
    assert.equal(await login(), 200);
  });
});
