/** The verifier of deliveries, with deliveries of a real server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { until } from "../../server/test/harness/wait.ts";
import { startWebhookReceiver } from "../../server/test/harness/webhook-receiver.ts";
import { startWorld } from "../../server/test/harness/world.ts";
import { createDeliveryVerifier, DeliveryRefused } from "../src/index.ts";
import { serve } from "./serve.ts";

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

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
/** A delivery with a token that no key verifies. */
const FORGED = {
  headers: { authorization: `Bearer ${base64url({ alg: "RS256", kid: "unknown" })}.${base64url({})}.AAAA` },
  body: new Uint8Array(),
};

test("a delivery is not refused while the server's keys cannot be read, and is checked once they can", async () => {
  let keys: readonly [number, string] = [503, ""];
  await using issuer = await serve(({ url }, response) => {
    if (url === "/keys") response.writeHead(keys[0], { "content-type": "application/json" }).end(keys[1]);
    else response.end(JSON.stringify({ issuer: issuer.baseUrl, jwks_uri: `${issuer.baseUrl}/keys` }));
  });
  const verify = createDeliveryVerifier({ issuer: issuer.baseUrl, group: "a" });
  for (const unreadable of [
    [503, ""],
    [200, "<html>"],
    [200, "{}"],
  ] as const) {
    keys = unreadable;
    await assert.rejects(verify(FORGED), (error) => !(error instanceof DeliveryRefused), unreadable.join(" "));
  }
  keys = [200, JSON.stringify({ keys: [] })];
  await assert.rejects(verify(FORGED), (error) => error instanceof DeliveryRefused && error.status === 403);
});

test("a server that does not answer the request for its discovery document blocks no later delivery", async (t) => {
  const timeout = new AbortController();
  t.mock.method(AbortSignal, "timeout", () => timeout.signal, { times: 1 });
  let requests = 0;
  await using issuer = await serve(({ url }, response) => {
    if (url === "/keys") response.end(JSON.stringify({ keys: [] }));
    else if (++requests > 1) response.end(JSON.stringify({ issuer: issuer.baseUrl, jwks_uri: `${issuer.baseUrl}/keys` }));
    else timeout.abort();
  });
  const verify = createDeliveryVerifier({ issuer: issuer.baseUrl, group: "a" });
  await assert.rejects(verify(FORGED), (error) => !(error instanceof DeliveryRefused));
  await assert.rejects(verify(FORGED), (error) => error instanceof DeliveryRefused);
});
