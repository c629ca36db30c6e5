/** Converts every type of event that both versions have from version 1 to version 2 and back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { AdvisoryEventSchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoryEventSchema as AdvisoryEventSchemaV2 } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { isInBothVersions, v1EventFromV2, v2EventFromV1 } from "./event-versions.ts";

test("every type of event that both versions have survives the conversion to version 2 and back", () => {
  const { fields } = AdvisoryEventSchema.oneofs[0]!;
  const known = fields.flatMap((field) => {
    const events = field.fieldKind === "message" ? valuesOf(field.message).map((value) => eventOf(field.localName, value)) : [];
    return events.filter(isInBothVersions);
  });
  assert.equal(known.length, fields.length + 1, "three types of detection, and all other types except one");
  for (const event of known) {
    const other = v2EventFromV1(event);
    // As it is read from the database.
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

/** Messages with a value in every field; one message for each case of a oneof. */
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
