/** Tests bulk requests (RFC 7644 §3.7). */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { entriesAfter, lastSeq } from "../auditing/audit-log.ts";
import { type Directory, GROUP, type Json, PATCH, startDirectory, USER } from "../harness/scim/directory.ts";
import { describeWithWorld } from "../harness/world.ts";

const BULK = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
let made = 0;

describeWithWorld("bulk requests over SCIM", (world) => {
  let directory: Directory;
  before(async () => {
    directory = await startDirectory(world);
  });

  const name = () => `bulk-${++made}`;
  const user = (bulkId: string, data: Json = {}) => ({
    method: "POST",
    path: "/Users",
    bulkId,
    data: { schemas: [USER], userName: name(), ...data },
  });
  const group = (bulkId: string, ...members: string[]) => ({
    method: "POST",
    path: "/Groups",
    bulkId,
    data: { schemas: [GROUP], displayName: name(), members: members.map((value) => ({ value })) },
  });
  const post = (Operations: unknown[], more: Json = {}) => directory.call("POST", "/Bulk", { schemas: [BULK], Operations, ...more });
  const statuses = (body: { Operations: { status: string }[] }) => body.Operations.map(({ status }) => status);

  test("every method runs, and each result has its status, location and version", async () => {
    const { status, body } = await post([user("a"), user("b")]);
    equal(status, 200);
    deepEqual(body.schemas, ["urn:ietf:params:scim:api:messages:2.0:BulkResponse"]);
    const [a, b] = body.Operations as { location: string; version: string }[];
    const base = `${world.baseUrl}${directory.path}`;
    match(a!.location, new RegExp(`^${base}/Users/[0-9a-f-]{36}$`));
    deepEqual(a, { method: "POST", bulkId: "a", location: a!.location, version: 'W/"1"', status: "201" });
    const pathOf = ({ location }: { location: string }) => location.slice(base.length);
    const renamed = name();
    const next = await post([
      { method: "put", path: pathOf(a!), version: 'W/"1"', data: { schemas: [USER], userName: renamed } },
      { method: "PATCH", path: pathOf(b!), data: { schemas: [PATCH], Operations: [{ op: "replace", path: "active", value: false }] } },
      { method: "DELETE", path: pathOf(b!), version: 'W/"1"' },
      { method: "DELETE", path: pathOf(b!), version: 'W/"2"' },
    ]);
    deepEqual(statuses(next.body), ["200", "200", "412", "204"]);
    equal(next.body.Operations[0].version, 'W/"2"');
    equal(next.body.Operations[2].response.status, "412");
    equal((await directory.must(200, "GET", pathOf(a!))).userName, renamed);
    equal((await directory.call("GET", pathOf(b!))).status, 404);
  });

  test("a reference is resolved in data, paths and filters, also if it comes before the operation that it names", async () => {
    const add = { schemas: [PATCH], Operations: [{ op: "add", path: "members", value: [{ value: "bulkId:u2" }] }] };
    const remove = { schemas: [PATCH], Operations: [{ op: "remove", path: 'members[value eq "bulkId:u1"]' }] };
    const { body } = await post([
      group("g", "bulkId:u1"),
      { method: "PATCH", path: "/Groups/bulkId:g", data: add },
      { method: "PATCH", path: "/Groups/bulkId:g", data: remove },
      user("u1"),
      user("u2", { displayName: "see bulkId:u1" }),
    ]);
    deepEqual(statuses(body), ["201", "200", "200", "201", "201"], JSON.stringify(body));
    const idOf = (index: number) => body.Operations[index].location.split("/").at(-1);
    const { members } = await directory.must(200, "GET", `/Groups/${idOf(0)}`);
    deepEqual(
      members.map(({ value }: { value: string }) => value),
      [idOf(4)],
    );
    equal((await directory.must(200, "GET", `/Users/${idOf(4)}`)).displayName, "see bulkId:u1");
  });

  test("references that cannot be resolved fail their operations only", async () => {
    const taken = name();
    await directory.user({ userName: taken });
    const { body } = await post([
      group("one", "bulkId:nobody"),
      user("broken", { userName: taken }),
      group("two", "bulkId:broken"),
      group("three", "bulkId:four"),
      group("four", "bulkId:three"),
      user("fine"),
      user("fine"),
    ]);
    deepEqual(statuses(body), ["400", "409", "409", "409", "409", "201", "400"]);
    equal(body.Operations[1].response.scimType, "uniqueness");
    match(body.Operations[2].response.detail, /"broken" failed/);
    equal(body.Operations[1].location, undefined);
  });

  test("a request ends after as many errors as it allows, and reports only what has run", async () => {
    const wrong = { method: "POST", path: "/Users", bulkId: "x", data: { schemas: [USER], userName: " " } };
    const last = user("last");
    const { body } = await post([user("first"), wrong, { ...wrong, bulkId: "y" }, last], { failOnErrors: 2 });
    deepEqual(statuses(body), ["201", "400", "400"]);
    const found = await directory.must(200, "GET", `/Users?filter=${encodeURIComponent(`userName eq "${last.data.userName}"`)}`);
    equal(found.totalResults, 0);
    deepEqual(statuses((await post([wrong, user("next")])).body), ["400", "201"]);
  });

  test("malformed operations fail alone, and malformed requests as a whole", async () => {
    const { body } = await post([
      "text",
      { method: "GET", path: "/Users" },
      { method: "POST", path: "/Users", data: { userName: "x" } },
      { method: "POST", path: "/Schemas", bulkId: "a", data: { userName: "x" } },
      { method: "POST", path: "/Users/1", bulkId: "b", data: { userName: "x" } },
      { method: "PUT", path: "/Users", data: { userName: "x" } },
      { method: "POST", path: "/Users", bulkId: "c" },
      { method: "DELETE", path: "/Users/../Groups/1" },
    ]);
    deepEqual(new Set(statuses(body)), new Set(["400"]));
    deepEqual(
      body.Operations.map(({ method = "", bulkId = "" }: Json) => `${method} ${bulkId}`),
      [" ", "GET ", "POST ", "POST a", "POST b", "PUT ", "POST c", "DELETE "],
    );
    ok(body.Operations.every(({ response }: { response: Json }) => response.detail !== ""));
    for (const request of [{}, { Operations: [] }, { Operations: {} }, { schemas: [USER], Operations: [user("a")] }])
      equal((await directory.call("POST", "/Bulk", request)).status, 400, JSON.stringify(request));
    for (const failOnErrors of [0, -1, 1.5, "2"]) equal((await post([user("a")], { failOnErrors })).status, 400, String(failOnErrors));
    equal((await directory.call("GET", "/Bulk")).status, 405);
    equal((await directory.call("POST", "/Bulk/1", {})).status, 404);
  });

  test("the limits are those of the configuration of the service", async () => {
    const { bulk } = await directory.must(200, "GET", "/ServiceProviderConfig");
    deepEqual(bulk, { supported: true, maxOperations: 500, maxPayloadSize: 1024 * 1024 });
    const remove = { method: "DELETE", path: "/Users/x" };
    const many = await post(Array(501).fill(remove));
    deepEqual([many.status, /maxOperations/.test(many.body.detail)], [413, true]);
    const most = await post(Array(500).fill(remove));
    deepEqual([most.status, new Set(statuses(most.body))], [200, new Set(["404"])]);
    const large = await post([user("a", { displayName: "x".repeat(1024 * 1024) })]);
    deepEqual([large.status, /maxPayloadSize/.test(large.body.detail)], [413, true]);
  });

  test("another directory's resources cannot be reached by a bulk request", async () => {
    const other = await startDirectory(world);
    const { id } = await other.user();
    const { body } = await post([{ method: "DELETE", path: `/Users/${id}` }]);
    deepEqual(statuses(body), ["404"]);
    equal((await other.call("GET", `/Users/${id}`)).status, 200);
    equal((await directory.call("POST", "/Bulk", {}, { authorization: `Bearer ${other.token}` })).status, 401);
  });

  test("the audit entry of each operation names the method of the operation", async () => {
    const { id } = await directory.user();
    const before = await lastSeq(world);
    const path = `/Users/${id}`;
    const Operations = [{ op: "replace", path: "title", value: "T" }];
    const { body } = await post([
      user("new"),
      { method: "PATCH", path, data: { schemas: [PATCH], Operations } },
      { method: "DELETE", path },
    ]);
    deepEqual(statuses(body), ["201", "200", "204"]);
    const entries = await entriesAfter(world, before);
    deepEqual(
      entries.map(({ action }) => action),
      ["scim POST", "scim PATCH", "scim DELETE"],
    );
  });
});
