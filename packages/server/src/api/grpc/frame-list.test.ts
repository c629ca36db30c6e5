import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { services } from "@holt/api";
import { type Identity, IdentitySchema, ListIdentitiesResponseSchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { arbitraryMessage } from "../../../test/harness/arbitrary-message.ts";
import fc from "../../../test/harness/property.ts";
import { compileJsonEncoder, messageFromJson } from "../../lib/proto-json.ts";
import { JsonText } from "../call/call.ts";
import { SeparateBodies } from "../resource/bodies.ts";
import { listResponse } from "../resource/list-text.ts";
import { frameReply } from "./frame-reply.ts";
import { MessageCache } from "./message-cache.ts";
import { frameMessage } from "./message-framing.ts";

const lists = [...new Set(services.flatMap(({ methods }) => methods.map(({ output }) => output)))].filter(isList);

/** Whether the fields are those that lists of resources have. */
function isList({ fields }: DescMessage): boolean {
  const names = fields.map(({ name }) => name);
  return (
    fields[0]?.fieldKind === "list" && fields[0].listKind === "message" && names.includes("next_page_token") && names.includes("skipped")
  );
}

function assertLikeLibrary(schema: DescMessage, rows: readonly Message[]): void {
  const row = schema.fields[0]?.message as DescMessage;
  const bodies = rows.map((message) => compileJsonEncoder(row)(message));
  const page = { bodies: new SeparateBodies(bodies), nextPageToken: "abc", totalCount: 1000, skipped: 7 };
  const { text } = listResponse(schema, page);
  const expected = frameMessage(toBinary(schema, messageFromJson(schema, text)));
  for (const time of ["first", "second"])
    assert.deepEqual(frameReply(schema, listResponse(schema, page)), expected, `${time} time: ${text}`);
  for (const body of bodies) {
    const alone = frameMessage(toBinary(row, messageFromJson(row, body)));
    assert.deepEqual(frameReply(row, new JsonText(row, body)), alone, `alone: ${body}`);
  }
}

describe("encoding a list as a gRPC message", () => {
  assert.ok(lists.length > 10);
  for (const schema of lists)
    it(`makes the same bytes of ${schema.typeName} as protobuf-es, and of its rows alone, whether they are known or not`, () => {
      fc.assert(
        fc.property(fc.array(arbitraryMessage(schema.fields[0]?.message as DescMessage), { maxLength: 5 }), (rows) =>
          assertLikeLibrary(schema, rows),
        ),
        { numRuns: 10 },
      );
    });

  it("encodes a row anew when its body changes, and again when it changes back", () => {
    const uid = "0".repeat(40);
    const named = (name: string): Identity => create(IdentitySchema, { uid, name });
    for (const name of ["one", "two", "one", "x".repeat(300), "漢字"]) assertLikeLibrary(ListIdentitiesResponseSchema, [named(name)]);
  });
});

describe("the cache of encoded resources", () => {
  const schema = IdentitySchema;
  const body = (uid: number) => `{"uid":"${uid}","name":"a"}`;

  it("keeps no more than its limit, and the rows that were used last", () => {
    const cache = new MessageCache(40_000);
    let encoded = 0;
    const read = (uid: number) => cache.get(schema, body(uid), () => Buffer.from([++encoded]));
    for (let uid = 0; uid < 1000; uid++) {
      read(uid);
      read(0);
    }
    assert.equal(encoded, 1000);
    read(999);
    assert.equal(encoded, 1000);
    read(1);
    assert.equal(encoded, 1001);
  });

  it("does not keep a resource that takes much of its limit", () => {
    const cache = new MessageCache(40_000);
    let encoded = 0;
    const read = (text: string) => cache.get(schema, text, () => Buffer.from([++encoded]));
    for (const text of [body(1), `{"uid":"2","name":"${"a".repeat(5000)}"}`]) for (let i = 0; i < 2; i++) read(text);
    assert.equal(encoded, 3);
  });
});
