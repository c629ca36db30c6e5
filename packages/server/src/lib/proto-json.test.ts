import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type DescMessage, fromJson, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { services } from "@holt/api";
import { GroupSchema, ListGroupsResponseSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { EolTagListSchema, EolTagSchema, PackageVersionSchema } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { AdvisorySchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { arbitraryMessage } from "../../test/harness/arbitrary-message.ts";
import { everyKind } from "../../test/harness/every-kind.ts";
import fc from "../../test/harness/property.ts";
import { compileJsonEncoder, messageFromJson } from "./proto-json.ts";
import { compileJsonDecoder } from "./proto-json-decode.ts";

const contract = [...new Set(services.flatMap((service) => service.methods.flatMap((method) => [method.input, method.output])))];
const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z$/;

/** protobuf-es's JSON, adjusted to Holt's rules: times truncated to three digits, no empty nextPageToken. */
function expected(json: unknown): unknown {
  if (typeof json === "string")
    return json.replace(TIME, (_, seconds, fraction = "") => `${seconds}.${fraction.padEnd(3, "0").slice(0, 3)}Z`);
  if (Array.isArray(json)) return json.map(expected);
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(
    Object.entries(json).flatMap(([key, value]) => (key === "nextPageToken" && value === "" ? [] : [[key, expected(value)]])),
  );
}

function isVersionOne({ typeName }: DescMessage): boolean {
  return /^platform\.\w+\.v1\./.test(typeName);
}

/** JSON of version 1 has `null` for unset messages, and an empty page token. */
function withoutUnset(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(withoutUnset);
  if (typeof json !== "object" || json === null) return json;
  const entries = Object.entries(json).filter(([key, value]) => value !== null && !(key === "nextPageToken" && value === ""));
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutUnset(value)]));
}

function assertLikeLibrary(schema: DescMessage, message: Message): void {
  const text = compileJsonEncoder(schema)(message);
  const json = toJson(schema, message, { alwaysEmitImplicit: true });
  const known = expected(JSON.parse(JSON.stringify(json)));
  if (isVersionOne(schema)) assert.deepEqual(withoutUnset(JSON.parse(text)), withoutUnset(known));
  else assert.deepEqual(JSON.parse(text), known);
  const back = fromJson(schema, JSON.parse(text));
  assert.deepEqual(messageFromJson(schema, text), back, "Holt's decoder and protobuf-es read the same message");
  assert.equal(compileJsonEncoder(schema)(back), text, "encoding the decoded message gives the same text");
}

describe("the JSON encoder", () => {
  it("the JSON encoder agrees with protobuf-es on every kind of field", () => {
    const schema = everyKind();
    fc.assert(
      fc.property(arbitraryMessage(schema, 1), (message) => assertLikeLibrary(schema, message)),
      { numRuns: 300 },
    );
  });

  for (const schema of contract) {
    it(`the JSON encoder agrees with protobuf-es on ${schema.typeName}`, () => {
      fc.assert(
        fc.property(arbitraryMessage(schema), (message) => assertLikeLibrary(schema, message)),
        { numRuns: 20 },
      );
    });
  }

  it("the JSON encoder writes every field of implicit presence, omits unset fields, and keeps the declaration order", () => {
    const text = compileJsonEncoder(RepoSchema)(create(RepoSchema, { name: "r", syncConfig: { source: "s" } }));
    const sync = '"sync_config":{"source":"s","uniqueTags":false,"google":"","amazon":"","azure":"","apkoOverlay":"","gracePeriod":false}';
    assert.equal(
      text,
      `{"uid":"","name":"r","description":"","catalogTier":"CATALOG_TIER_UNSPECIFIED","bundles":[],"aliases":[],"activeTags":[],${sync}}`,
    );
  });

  it("the JSON encoder omits an empty page token and an unset total, but no other empty field of a list response", () => {
    const encode = compileJsonEncoder(ListGroupsResponseSchema);
    assert.equal(encode(create(ListGroupsResponseSchema)), '{"groups":[],"skipped":0}');
    const full = create(ListGroupsResponseSchema, { nextPageToken: "t", totalCount: 0n, skipped: 3 });
    assert.equal(encode(full), '{"groups":[],"nextPageToken":"t","totalCount":"0","skipped":3}');
  });

  it("the JSON encoder writes null for an unset message of version 1, unless it is optional or in a oneof, and an empty page token", () => {
    const tag = create(EolTagSchema, { id: "a/b", mainPackageVersion: { version: "3" } });
    const version = { ...JSON.parse(compileJsonEncoder(PackageVersionSchema)(create(PackageVersionSchema, { version: "3" }))) };
    assert.equal(version.versionSource, null);
    assert.deepEqual(JSON.parse(compileJsonEncoder(EolTagListSchema)(create(EolTagListSchema, { items: [tag] }))), {
      items: [
        {
          id: "a/b",
          name: "",
          mainPackageName: "",
          tagStatus: "TAG_ACTIVE",
          mainPackageVersion: version,
          graceStatus: "GRACE_NOT_ELIGIBLE",
          gracePeriodExpiryDate: null,
        },
      ],
      nextPageToken: "",
    });
    const advisory = JSON.parse(compileJsonEncoder(AdvisorySchema)(create(AdvisorySchema, { events: [{}] })));
    assert.deepEqual([advisory.createdAt, "deletedAt" in advisory, advisory.events[0].timestamp], [null, false, null]);
    assert.deepEqual(["detection" in advisory.events[0], "issue" in advisory.events[0]], [false, false]);
  });

  it("the JSON encoder truncates times to three fraction digits, also before 1970", () => {
    const encode = compileJsonEncoder(TimestampSchema);
    const text = (seconds: bigint, nanos: number): string => encode(create(TimestampSchema, { seconds, nanos }));
    assert.equal(text(0n, 0), '"1970-01-01T00:00:00.000Z"');
    assert.equal(text(1_774_619_700n, 999_999_999), '"2026-03-27T13:55:00.999Z"');
    assert.equal(text(-1n, 999_999_999), '"1969-12-31T23:59:59.999Z"');
    assert.throws(() => text(253_402_300_800n, 0), /outside the years/);
  });

  it("the JSON encoder agrees with Date.prototype.toJSON on every day", () => {
    const encode = compileJsonEncoder(TimestampSchema);
    const days = fc.integer({ min: -719_162, max: 2_932_896 });
    fc.assert(
      fc.property(days, fc.nat({ max: 86_399_999 }), (day, inDay) => {
        const ms = day * 86_400_000 + inDay;
        const seconds = Math.floor(ms / 1000);
        const message = create(TimestampSchema, { seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 });
        assert.equal(encode(message), JSON.stringify(new Date(ms)));
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the JSON decoder", () => {
  const decodeRepo = compileJsonDecoder(RepoSchema);
  const decodeGroup = compileJsonDecoder(GroupSchema);
  const rejects = (schema: DescMessage, json: JsonValue, message: string | RegExp): void => {
    assert.throws(() => compileJsonDecoder(schema)(json), { name: "JsonFieldError", message });
  };

  it("the JSON decoder accepts camelCase, snake_case and the JSON name, skips unknown keys, and treats null as absent", () => {
    for (const key of ["sync_config", "syncConfig"]) assert.equal(decodeRepo({ [key]: { source: "x" } }).syncConfig?.source, "x");
    assert.deepEqual(decodeRepo({ activeTags: ["a"], unknown: { deep: [1] }, name: null }), decodeRepo({ active_tags: ["a"] }));
  });

  it("the JSON decoder names the invalid field in its error", () => {
    rejects(RepoSchema, { syncConfig: { source: 5 } }, "sync_config.source: must be a string, not 5");
    rejects(RepoSchema, { aliases: ["a", null] }, "aliases[1]: must be a string, not null");
    rejects(RepoSchema, { catalogTier: "GOLD" }, /^catalog_tier: must be one of CATALOG_TIER_UNSPECIFIED, .*, not "GOLD"$/);
    rejects(RepoSchema, { customOverlay: { environment: { A: 1 } } }, 'custom_overlay.environment["A"]: must be a string, not 1');
    rejects(RepoSchema, { createTime: "yesterday" }, "create_time: must be an RFC 3339 time such as 2026-03-27T13:55:00Z");
    rejects(RepoSchema, { createTime: "2026-02-30T00:00:00Z" }, /^create_time: must be an RFC 3339/);
    rejects(RepoSchema, { name: "\ud800" }, "name: must be valid Unicode");
    rejects(RepoSchema, [], "must be an object");
  });

  it("the JSON decoder rejects two members of one oneof", () => {
    rejects(IdentitySchema, { claimMatch: {}, awsIdentity: {} }, /^aws_identity: only one of .*claim_match.* may be set$/);
  });

  it("the JSON decoder stores a key named __proto__ without changing a prototype", () => {
    const group = decodeGroup(JSON.parse('{"__proto__":{"name":"x"},"resourceLimits":{"__proto__":7}}'));
    assert.equal(group.name, "");
    assert.deepEqual(Object.keys(group.resourceLimits), ["__proto__"]);
    assert.equal(compileJsonEncoder(GroupSchema)(group).includes('"resourceLimits":{"__proto__":7}'), true);
  });

  it("the JSON decoder accepts times with any fraction and offset", () => {
    const decode = compileJsonDecoder(TimestampSchema);
    assert.deepEqual(decode("2026-03-27T15:55:00.000000001+02:00"), create(TimestampSchema, { seconds: 1_774_619_700n, nanos: 1 }));
    assert.deepEqual(decode("2026-03-27t13:55:00z"), create(TimestampSchema, { seconds: 1_774_619_700n }));
  });
});
