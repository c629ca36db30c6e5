/** The verifier of deliveries, with deliveries of a real server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { until } from "../../server/test/harness/wait.ts";
import { startWebhookReceiver } from "../../server/test/harness/webhook-receiver.ts";
import { startWorld } from "../../server/test/harness/world.ts";
import { createDeliveryVerifier, DeliveryRefused } from "../src/index.ts";

test("deliveries of the server pass, and changed, foreign and unsigned ones are refused", async () => {
  await using receiver = await startWebhookReceiver();
  await using world = await startWorld({ env: { HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8" } });
  await world.must(SubscriptionsService.method.createSubscription, { parent: world.orgUid, subscription: { sink: `${receiver.url}/` } });
  await world.group(world.orgUid);
  await until(() => receiver.received.length > 0);
  const [{ headers, body }] = receiver.received as [(typeof receiver.received)[0]];
  const delivery = { headers, body: new Uint8Array(body) };
  const settings = { issuer: world.baseUrl, group: world.orgUid, now: world.clock.now };
  const verify = createDeliveryVerifier(settings);
  await verify(delivery);

  const refused = (status: number) => (error: unknown) => error instanceof DeliveryRefused && error.status === status;
  await assert.rejects(verify({ headers, body: Uint8Array.of(...body, 32) }), refused(403));
  await assert.rejects(verify({ ...delivery, headers: {} }), refused(401));
  const forged = `${String(headers.authorization).slice(0, -8)}AAAAAAAA`;
  await assert.rejects(verify({ ...delivery, headers: { authorization: forged } }), refused(403));
  await assert.rejects(createDeliveryVerifier({ ...settings, group: "0".repeat(40) })(delivery), refused(403));
  const late = () => new Date(world.clock.now().getTime() + 86_400_000);
  await assert.rejects(createDeliveryVerifier({ ...settings, now: late })(delivery), refused(403));
});
