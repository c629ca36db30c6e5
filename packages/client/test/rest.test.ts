/** Calls over REST against a real server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startWorld } from "../../server/test/harness/world.ts";
import { fixedToken, HoltError } from "../src/index.ts";
import { createRest, type RestRecord } from "../src/rest.ts";
import { serve } from "./serve.ts";

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

test("a caller's headers replace those of the client, in any case of their letters", async () => {
  const received: Record<string, unknown>[] = [];
  await using server = await serve(({ headers }, response) => {
    received.push(headers);
    response.writeHead(200).end();
  });
  const records: RestRecord[] = [];
  const rest = createRest({ ...server, token: fixedToken("of-the-client"), onCall: (record) => records.push(record) });
  const headers = { Authorization: "Bearer of-the-caller", "Content-Type": "application/merge-patch+json", "X-Request-Id": "own-id" };
  await rest.call({ method: "PATCH", path: "/x", body: { name: "new" }, headers });
  const [request] = received;
  assert.deepEqual(
    [request?.authorization, request?.["content-type"], request?.["x-request-id"]],
    ["Bearer of-the-caller", "application/merge-patch+json", "own-id"],
  );
  assert.equal(records[0]?.requestId, "own-id");
});

const GET = { method: "GET", path: "/x" };
const ONCE = { attempts: 1 };

test("an answer that breaks off, takes too long or is not JSON rejects with a HoltError that says so", async () => {
  await using broken = await serve((_request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("{", () => response.destroy());
  });
  await assert.rejects(createRest({ ...broken, retry: ONCE }).call(GET), {
    name: "HoltError",
    code: "UNAVAILABLE",
    message: /cannot reach/,
  });
  await using endless = await serve((_request, response) => void response.writeHead(200, { "content-length": "100" }).write("{"));
  const late = { name: "HoltError", code: "DEADLINE_EXCEEDED", message: /did not answer in time/ };
  await assert.rejects(createRest({ ...endless, timeoutMs: 20 }).call(GET), late);
  await using proxy = await serve((_request, response) => void response.end("<html>Sign in</html>"));
  await assert.rejects(createRest(proxy).call(GET), { name: "HoltError", code: "UNKNOWN", message: /is it a Holt server\?/ });
});

test("details of an error that cannot be read are left out", async () => {
  const readable = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "FULL" };
  const wrong = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "soon" };
  await using server = await serve((_request, response) => {
    response.writeHead(400).end(JSON.stringify({ code: 9, message: "full", details: [null, wrong, readable] }));
  });
  const expected = { name: "HoltError", code: "FAILED_PRECONDITION", reason: "FULL", retryDelayMs: undefined };
  await assert.rejects(createRest(server).call(GET), expected);
});

test("a call is not repeated if the server asks for a pause of more than 30 seconds", async () => {
  await using server = await serve((_request, response) => void response.writeHead(429, { "retry-after": "31" }).end());
  const calls: RestRecord[] = [];
  await assert.rejects(createRest({ ...server, onCall: (call) => calls.push(call) }).call(GET), { retryDelayMs: 31_000 });
  assert.equal(calls.length, 1);
});

test("the deadline of a call ends its wait for a token, too", async () => {
  await using server = await serve((_request, response) => void response.end("{}"));
  const call = createRest({ ...server, token: () => new Promise(() => {}), timeoutMs: 20 }).call(GET);
  await assert.rejects(call, { code: "DEADLINE_EXCEEDED" });
});

test("a call that is aborted in the pause before it is repeated rejects with a HoltError", async () => {
  const abort = new AbortController();
  await using busy = await serve((_request, response) => {
    response.writeHead(429, { "retry-after": "7" }).end(() => setTimeout(() => abort.abort(), 50));
  });
  await assert.rejects(createRest(busy).call({ ...GET, signal: abort.signal }), { name: "HoltError", code: "CANCELED" });
});

test("only GET is repeated, after the pause that the server asks for, and a redirect is not followed", async () => {
  await using busy = await serve((_request, response) => response.writeHead(429, { "retry-after": "7" }).end());
  await using moved = await serve((_request, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end());
  const pauses: number[] = [];
  const calls: RestRecord[] = [];
  const rest = createRest({
    ...busy,
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
  await assert.rejects(createRest({ ...moved, token: fixedToken("t") }).call({ method: "GET", path: "/x" }), /the server answered 302/);
});
