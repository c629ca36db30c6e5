import assert from "node:assert/strict";
import { it } from "node:test";
import { EventsService } from "@holt/api/gen/holt/v1/events_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { errorOf } from "../harness/clients.ts";
import { untilPublished } from "../harness/events/event-feed.ts";
import { verifyDelivery } from "../harness/verify-delivery.ts";
import { describeWithWorld } from "../harness/world.ts";

const { listEvents } = EventsService.method;

describeWithWorld("the signed event feed", (world) => {
  const { listSignedEvents } = EventsService.method;

  it("the signed event feed contains the events of the feed as requests with the signature of a subscription of the group", async () => {
    const group = await world.group(world.orgUid);
    await world.must(GroupsService.method.createGroup, { parent: group, group: { name: "described", description: "für uns" } });
    await world.group(group);
    await untilPublished(world);
    const plain = await world.must(listEvents, { parent: group });
    const signed = await world.must(listSignedEvents, { parent: group });
    assert.deepEqual(
      signed.events.map(({ headers }) => headers["Ce-Id"]),
      plain.events.map(({ id }) => id),
    );
    assert.ok(signed.events.length > 1);
    for (const { headers, body } of signed.events) {
      const received = { ...EMPTY, headers: lowerCased(headers), body: Buffer.from(body) };
      const event = await verifyDelivery(received, { issuer: world.baseUrl, group });
      assert.equal(event.id, headers["Ce-Id"]);
      const changed = { ...received, body: Buffer.from(`${received.body} `) };
      await assert.rejects(verifyDelivery(changed, { issuer: world.baseUrl, group }));
      await assert.rejects(verifyDelivery(received, { issuer: world.baseUrl, group: world.orgUid }));
    }
  });

  it("the signed event feed needs the right to subscribe, because a signature must not reach callers who cannot get a delivery", async () => {
    const group = await world.group(world.orgUid);
    const { CAP_EVENTS_SUBSCRIPTION_LIST: LIST, CAP_EVENTS_SUBSCRIPTION_CREATE: CREATE } = Capability;
    const codeFor = async (...capabilities: Capability[]) => {
      const { token } = await world.robot(group, capabilities);
      return errorOf(await world.rest.call(listSignedEvents, { parent: group }, token))?.code;
    };
    assert.deepEqual([await codeFor(LIST), await codeFor(CREATE)], [Code.PERMISSION_DENIED, Code.PERMISSION_DENIED]);
    const { token } = await world.robot(group, [LIST, CREATE]);
    await world.must(listSignedEvents, { parent: group }, token);
  });

  it("a page of signed events has at most 50, and a cursor that other lists refuse", async () => {
    const group = await world.group(world.orgUid);
    for (let i = 0; i < 51; i++) await world.group(group);
    await untilPublished(world);
    const first = await world.must(listSignedEvents, { parent: group, pageSize: 200 });
    assert.deepEqual([first.events.length, first.hasMore], [50, true]);
    const second = await world.must(listSignedEvents, { parent: group, cursor: first.cursor });
    assert.deepEqual([second.events.length, second.hasMore], [2, false]);
    assert.equal(
      errorOf(await world.rest.call(listEvents, { parent: group, cursor: first.cursor }, world.token))?.code,
      Code.INVALID_ARGUMENT,
    );
  });
});

const EMPTY = { url: "/", method: "POST", rawHeaders: [], concurrent: 1, status: 0 };

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
