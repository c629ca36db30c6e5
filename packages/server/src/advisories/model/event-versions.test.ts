/** Every kind of event that both versions know comes back from version 2 as it was in version 1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { AdvisoryEventSchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoryEventSchema as AdvisoryEventSchemaV2 } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { isOfBoth, v1EventFromV2, v2EventFromV1 } from "./event-versions.ts";

test("events come back from version 2 as they were, whatever their kind", () => {
  const { fields } = AdvisoryEventSchema.oneofs[0]!;
  const known = fields.flatMap((field) => {
    const events = field.fieldKind === "message" ? valuesOf(field.message).map((value) => eventOf(field.localName, value)) : [];
    return events.filter(isOfBoth);
  });
  assert.equal(known.length, fields.length + 1, "three kinds of detections, all others but one once");
  for (const event of known) {
    const other = v2EventFromV1(event);
    // As it is stored.
    const read = fromBinary(AdvisoryEventSchemaV2, toBinary(AdvisoryEventSchemaV2, other));
    assert.deepEqual(toBinary(AdvisoryEventSchema, v1EventFromV2(read)), toBinary(AdvisoryEventSchema, event));
    assert.deepEqual(v1EventFromV2(other), event);
  }
});

function eventOf(name: string, value: object) {
  return create(AdvisoryEventSchema, {
    id: "a/b",
    timestamp: { seconds: 1n, nanos: 2_000_000 },
    findings: Uint8Array.of(1, 2),
    author: "ann",
    reviewer: "bob",
    status: 3,
    issue: "",
    type: { case: name, value } as never,
  });
}

/** A message with something in every field; of those that exclude each other, one for each. */
function valuesOf(schema: DescMessage): Message[] {
  const oneof = schema.oneofs[0];
  if (oneof !== undefined)
    return oneof.fields.flatMap((field) => {
      const values = field.fieldKind === "message" ? valuesOf(field.message) : [];
      return values.map((value) => create(schema, { [oneof.localName]: { case: field.localName, value } } as never));
    });
  const values = schema.fields.map((field, index) => {
    if (field.fieldKind === "list") return [field.localName, [`text ${index}`]];
    return [field.localName, field.fieldKind === "enum" ? 2 : `text ${index}`];
  });
  return [create(schema, Object.fromEntries(values))];
}
