/** The headers of a delivery. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type EventRow, headersOf } from "./cloud-event.ts";

const event: EventRow = {
  id: "3f1e",
  type: "dev.holt.api.iam.group.created.v1",
  source: "https://holt.example.com/iam/v2/groups",
  subject: "aa/bb",
  group_uid: "aa",
  time: "2030-01-01T00:00:00.000Z",
  body_type: "platform.iam.v2.Group",
  extensions: "{}",
  data: "{}",
};

test("an event's attributes are headers", () => {
  assert.deepEqual(headersOf({ ...event, extensions: '{"identityprovider":"aa/cc"}' }), {
    "Content-Type": "application/json",
    "Ce-Specversion": "1.0",
    "Ce-Id": "3f1e",
    "Ce-Type": "dev.holt.api.iam.group.created.v1",
    "Ce-Source": "https://holt.example.com/iam/v2/groups",
    "Ce-Time": "2030-01-01T00:00:00.000Z",
    "Ce-Audience": "customer",
    "Ce-Subject": "aa/bb",
    "Ce-Group": "aa",
    "Ce-Bodytype": "platform.iam.v2.Group",
    "Ce-Identityprovider": "aa/cc",
  });
});

test("an attribute without a value has no header", () => {
  const headers = headersOf({ ...event, subject: "", group_uid: "", body_type: "" });
  for (const name of ["Ce-Subject", "Ce-Group", "Ce-Bodytype"]) assert.equal(name in headers, false, name);
});

test("characters outside of printable ASCII are percent-encoded in headers (CloudEvents HTTP binding)", () => {
  const encoded = (subject: string) => headersOf({ ...event, subject })["Ce-Subject"];
  assert.equal(encoded("a b"), "a%20b");
  assert.equal(encoded('100% "x"'), "100%25%20%22x%22");
  assert.equal(encoded("Euro € 😀"), "Euro%20%E2%82%AC%20%F0%9F%98%80");
  assert.equal(encoded("x\r\nEvil: 1"), "x%0D%0AEvil:%201");
  assert.equal(encoded("\ud800"), "%EF%BF%BD");
  assert.equal(encoded("{[~^`]}"), "{[~^`]}");
});
