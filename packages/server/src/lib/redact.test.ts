import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethodUnary,
  fromJson,
  hasOption,
  type JsonObject,
  type JsonValue,
  type Message,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { events, services } from "@holt/api";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { IdentityProviderSchema, IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { openDatabase } from "../cli/open-installation.ts";
import { createLog } from "../lib/log.ts";
import { vendorProfiles } from "../lib/vendor-profile.ts";
import { appendEvent } from "../outbox/outbox.ts";
import { redacted } from "./redact.ts";

const MARKER = "aMarker0";

/** Every method with an event, served or not, and the message that is the body of its event. */
const evented = services
  .flatMap((service) => service.methods as readonly DescMethodUnary[])
  .filter((method) => hasOption(method, events))
  .map((method) => ({ method, schema: method.output.typeName === EmptySchema.typeName ? method.input : method.output }));

/** Names of fields that can hold a secret, or a message with one. Harmless fields with such names are listed below. */
const SUSPICIOUS =
  /secret|token|pass|pwd|pin$|otp|credential|key|code|private|cookie|session|signature|salt|seed|hash|proof|assertion|jwt|bearer|auth/i;

/** Fields that look like secrets but are harmless, including all fields inside them, with the reason. */
const HARMLESS: ReadonlyMap<string, string> = new Map([
  ["platform.iam.v2.Identity.static_keys", "public keys, and whose they are"],
  ["platform.iam.v1.Identity.static", "public keys, and whose they are"],
  ["platform.registry.v1.ImageContents.runtime_keyring", "public keys: anything else is refused"],
  ["platform.registry.v2.CustomOverlay.ImageContents.runtime_keyring", "public keys: anything else is refused"],
  ["holt.v1.Account.passkeys", "names and times of passkeys, without their keys"],
  ["holt.v1.SignatureKey.public_key", "a public key: anything else is refused"],
]);

describe("the body of an event", () => {
  it("the body of an event is defined for every method with an event", () => {
    assert.ok(evented.length >= 35);
    const names = evented.map(({ schema }) => schema.typeName);
    for (const name of ["GroupInvite", "IdentityProvider", "GenerateScimTokenResponse", "RegenerateScimTokenResponse"])
      assert.ok(names.includes(`platform.iam.v2.${name}`), name);
  });

  for (const { method, schema } of evented) {
    it(`the body of an event holds no secret: ${schema.typeName} of ${method.parent.typeName}/${method.name}`, () => {
      for (const message of filled(schema)) {
        const before = survivors(schema, message);
        assert.ok(before.length > 0);
        assert.deepEqual(suspects(schema, redacted(schema, message)), []);
        // The answer to the caller stays complete.
        assert.deepEqual(survivors(schema, message), before);
      }
    });
  }

  it("the body of an event has every field except the secrets", () => {
    const left = (name: string) => {
      const schema = evented.find((each) => each.schema.typeName === name)?.schema as DescMessage;
      return filled(schema).flatMap((message) => {
        const after = new Set(survivors(schema, redacted(schema, message)));
        return survivors(schema, message).filter((field) => !after.has(field));
      });
    };
    assert.deepEqual(left("platform.iam.v2.IdentityProvider"), ["platform.iam.v2.IdentityProvider.OIDC.client_secret"]);
    assert.deepEqual(left("platform.iam.v2.GenerateScimTokenResponse"), ["platform.iam.v2.GenerateScimTokenResponse.token"]);
    assert.deepEqual(left("platform.iam.v2.RegenerateScimTokenResponse"), ["platform.iam.v2.RegenerateScimTokenResponse.token"]);
    assert.deepEqual(left("platform.iam.v2.Identity"), []);
    assert.deepEqual(left("platform.registry.v2.Repo"), []);
  });

  it("the body of an event has only the uid and the expiration of an invite", () => {
    const { createGroupInvite } = GroupInvitesService.method;
    const [message] = filled(createGroupInvite.output);
    const json = toJson(createGroupInvite.output, redacted(createGroupInvite.output, message as Message) as never) as JsonObject;
    assert.deepEqual(Object.keys(json).toSorted(), ["expirationTime", "uid"]);
  });

  it("the body of an event has no secrets when it is stored", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "holt-redact-"));
    try {
      await using store = await openDatabase({ url: "", dataDir, log: createLog("silent") });
      const method = IdentityProvidersService.method.createIdentityProvider;
      const response = fromJson(IdentityProviderSchema, { uid: "0".repeat(40), name: "n", oidc: { clientSecret: MARKER, clientId: "id" } });
      const call = { method, type: "t", path: "/iam/v2/identityProviders/{parent=**}", alias: undefined, actor: undefined } as const;
      const names = { profile: vendorProfiles.get("") as never, baseUrl: "https://holt.test", subjects: {}, onAppend() {} };
      await store.transaction((db) =>
        appendEvent(db, { ...call, audience: "customer", request: create(method.input), response, now: new Date() }, names),
      );
      const row = await store.reader.selectFrom("outbox").selectAll().executeTakeFirstOrThrow();
      assert.ok(!JSON.stringify(row).includes(MARKER));
      assert.deepEqual(JSON.parse(row.data), { body: { uid: "0".repeat(40), name: "n", oidc: { client_id: "id" } } });
      assert.equal(response.configuration.value?.clientSecret, MARKER);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});

/** Messages with a value in every field: one message for each choice of a oneof, so that together they cover all fields. */
function filled(schema: DescMessage): Message[] {
  const choices = Math.max(1, ...[...reachable(schema)].flatMap((each) => each.oneofs.map((oneof) => oneof.fields.length)));
  return Array.from({ length: choices }, (_, choice) => fromJson(schema, jsonOf(schema, choice, [])));
}

function jsonOf(schema: DescMessage, choice: number, parents: readonly DescMessage[]): JsonObject {
  const chosen = schema.oneofs.map((oneof) => oneof.fields[choice % oneof.fields.length]);
  const fields = schema.fields.filter((field) => field.oneof === undefined || chosen.includes(field));
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = jsonValueOf(field, choice, [...parents, schema]);
      if (value === undefined) return [];
      if (field.fieldKind === "list") return [[field.jsonName, [value]]];
      return [[field.jsonName, field.fieldKind === "map" ? { [field.mapKey === ScalarType.STRING ? MARKER : "1"]: value } : value]];
    }),
  );
}

function jsonValueOf({ message, enum: values, scalar }: DescField, choice: number, parents: readonly DescMessage[]): JsonValue | undefined {
  if (message !== undefined) return wellKnown(message) ?? (parents.includes(message) ? undefined : jsonOf(message, choice, parents));
  if (values !== undefined) return values.values.at(-1)?.number ?? 0;
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return MARKER;
  return scalar === ScalarType.BOOL ? true : 1;
}

function wellKnown({ typeName }: DescMessage): JsonValue | undefined {
  if (!typeName.startsWith("google.protobuf.")) return undefined;
  const known: Readonly<Record<string, JsonValue>> = {
    Timestamp: "2026-01-01T00:00:00Z",
    Duration: "1s",
    FieldMask: MARKER,
    Struct: { [MARKER]: MARKER },
    Value: MARKER,
    Empty: {},
  };
  return known[typeName.slice("google.protobuf.".length)] ?? MARKER;
}

/** Full names of the fields that contain the marker, at any depth. */
function survivors(schema: DescMessage, message: Message): string[] {
  return markedIn(schema, toJson(schema, message as never) as JsonObject).map((path) => nameOf(path.at(-1)));
}

/** Paths of marked fields that look like secrets, or are inside such a field. */
function suspects(schema: DescMessage, message: Message): string[] {
  const paths = markedIn(schema, toJson(schema, message as never) as JsonObject);
  const looksSecret = (path: DescField[]) =>
    path.some(({ name }) => SUSPICIOUS.test(name)) && !path.some((field) => HARMLESS.has(nameOf(field)));
  return paths.filter(looksSecret).map((path) => path.map(nameOf).join(" → "));
}

function nameOf(field: DescField | undefined): string {
  return `${field?.parent.typeName}.${field?.name}`;
}

/** The fields that lead to each marker. */
function markedIn(schema: DescMessage, json: JsonObject): DescField[][] {
  return schema.fields.flatMap((field) => {
    const value = json[field.jsonName];
    if (value === undefined || !JSON.stringify(value).includes(MARKER)) return [];
    const { message } = field;
    if (message === undefined || wellKnown(message) !== undefined) return [[field]];
    const inner =
      field.fieldKind === "list" ? (value as JsonObject[]) : field.fieldKind === "map" ? Object.values(value as JsonObject) : [value];
    return inner.flatMap((each) => markedIn(message, each as JsonObject)).map((path) => [field, ...path]);
  });
}

function reachable(schema: DescMessage, found = new Set<DescMessage>()): Set<DescMessage> {
  if (!found.has(schema)) {
    found.add(schema);
    for (const { message } of schema.fields) if (message !== undefined) reachable(message, found);
  }
  return found;
}
