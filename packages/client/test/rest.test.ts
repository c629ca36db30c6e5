/** Calls over REST against a real server. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { startWorld } from "../../server/test/harness/world.ts";
import { fixedToken, HoltError } from "../src/index.ts";
import { createRest, type RestRecord } from "../src/rest.ts";

test("a REST call has the answer as JSON, and errors with everything that the server said", async () => {
  await using world = await startWorld();
  const rest = createRest({ baseUrl: `${world.baseUrl}/`, token: fixedToken(world.token) });
  const query = { "uidp.ids": [world.orgUid, "0".repeat(40)], page_size: "5", name: undefined };
  const { groups } = (await rest.call({ method: "GET", path: "/iam/v2/groups", query })) as { groups: { uid: string }[] };
  assert.deepEqual(
    groups.map(({ uid }) => uid),
    [world.orgUid],
  );
  const created = rest.call({ method: "POST", path: `/iam/v2/groups/${world.orgUid}`, body: { name: "" } });
  const error = await created.then(
    () => assert.fail(),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof HoltError);
  assert.deepEqual(
    [error.code, error.reason, error.fieldViolations.map(({ field }) => field)],
    ["INVALID_ARGUMENT", "INVALID_ARGUMENT", ["name"]],
  );
  assert.match(error.requestId, /^[0-9a-f-]{36}$/);
});

test("only GET is repeated, after the pause that the server asks for, and a redirect is not followed", async () => {
  const busy = createServer((_request, response) => response.writeHead(429, { "retry-after": "7" }).end()).listen(0, "127.0.0.1");
  const moved = createServer((_request, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()).listen(
    0,
    "127.0.0.1",
  );
  const urlOf = (server: typeof busy) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await Promise.all([busy, moved].map((server) => new Promise((resolve) => server.once("listening", resolve))));
  const pauses: number[] = [];
  const calls: RestRecord[] = [];
  const rest = createRest({
    baseUrl: urlOf(busy),
    retry: { attempts: 3, sleep: async (ms) => void pauses.push(ms) },
    onCall: (call) => calls.push(call),
  });
  await assert.rejects(rest.call({ method: "POST", path: "/x" }), { code: "RESOURCE_EXHAUSTED", retryDelayMs: 7000 });
  assert.deepEqual([pauses, calls.length], [[], 1]);
  await assert.rejects(rest.call({ method: "GET", path: "/x" }), { code: "RESOURCE_EXHAUSTED" });
  assert.deepEqual(
    [pauses, calls.map(({ attempt, status }) => [attempt, status])],
    [
      [7000, 7000],
      [
        [1, 429],
        [1, 429],
        [2, 429],
        [3, 429],
      ],
    ],
  );
  await assert.rejects(
    createRest({ baseUrl: urlOf(moved), token: fixedToken("t") }).call({ method: "GET", path: "/x" }),
    /the server answered 302/,
  );
  for (const server of [busy, moved]) server.close();
});
