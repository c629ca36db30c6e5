import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clone, create, type DescField, type DescMessage, getOption, hasOption, isFieldSet, type Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { fieldBehavior } from "@holt/api";
import { FieldBehavior } from "@holt/api/gen/google/api/field_behavior_pb.ts";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RoleSchema } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { arbitraryMessage } from "../../../test/harness/arbitrary-message.ts";
import fc from "../../../test/harness/property.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { applyMask, writableFields } from "./field-mask.ts";

const SCHEMAS = [GroupSchema, IdentitySchema, RoleSchema, RepoSchema] as const;

/** A message as a plain object of its set fields by proto name, which is all that the model knows. */
type Plain = { [name: string]: unknown };

function plainFrom(schema: DescMessage, message: Message): Plain {
  const reflected = reflect(schema, message);
  const plain: Plain = {};
  for (const field of schema.fields) {
    if (!isFieldSet(message, field)) continue;
    const value = field.fieldKind === "message" ? reflected.get(field) : undefined;
    plain[field.name] =
      value === undefined
        ? plainValue(message, field)
        : plainFrom((value as { desc: DescMessage }).desc, (value as { message: Message }).message);
  }
  return plain;
}

function plainValue(message: Message, field: DescField): unknown {
  const values = message as unknown as Record<string, { value?: unknown }>;
  return structuredClone(field.oneof === undefined ? values[field.localName] : values[field.oneof.localName]?.value);
}

class RefusedPath extends Error {}

/** The meaning of a mask, on plain objects. */
function modelOf(schema: DescMessage, current: Plain, incoming: Plain, paths: readonly string[]): Plain {
  const next = structuredClone(current);
  const given = paths.length > 0 ? paths : Object.keys(incoming);
  for (const path of given) {
    if (path === "*") for (const field of schema.fields) replace(field, incoming, next);
    else replaceAt(schema, path.split("."), incoming, next);
  }
  return next;
}

/** @returns whether callers may set the field that the path names */
function replaceAt(schema: DescMessage, [head = "", ...rest]: string[], from: Plain, to: Plain): boolean {
  const field = schema.fields.find(({ name, jsonName, localName }) => [name, jsonName, localName].includes(head));
  if (field === undefined) throw new RefusedPath();
  if (isOutputOnly(field)) return false;
  if (rest.length === 0) {
    replace(field, from, to);
    return true;
  }
  if (field.fieldKind !== "message") throw new RefusedPath();
  const inner = structuredClone((to[field.name] ?? {}) as Plain);
  const isWritable = replaceAt(field.message, rest, (from[field.name] ?? {}) as Plain, inner);
  if (isWritable) put(field, inner, to);
  return isWritable;
}

function replace(field: DescField, from: Plain, to: Plain): void {
  if (isOutputOnly(field)) return;
  if (Object.hasOwn(from, field.name)) put(field, structuredClone(from[field.name]), to);
  else delete to[field.name];
}

/** A oneof has one member at a time. */
function put(field: DescField, value: unknown, to: Plain): void {
  for (const member of field.oneof?.fields ?? []) delete to[member.name];
  to[field.name] = value;
}

function isOutputOnly(field: DescField): boolean {
  return hasOption(field, fieldBehavior) && getOption(field, fieldBehavior).includes(FieldBehavior.OUTPUT_ONLY);
}

/** Paths of a message in any spelling, some of which lead nowhere. */
function arbitraryPath(schema: DescMessage, depth = 2): fc.Arbitrary<string> {
  const steps = schema.fields.map((field) => {
    const name = fc.constantFrom(field.name, field.jsonName, field.localName);
    if (depth === 0 || field.fieldKind !== "message" || field.message.fields.length === 0) return name;
    return fc.oneof(
      name,
      fc.tuple(name, arbitraryPath(field.message, depth - 1)).map(([head, tail]) => `${head}.${tail}`),
    );
  });
  return fc.oneof(
    { weight: 20, arbitrary: fc.oneof(...steps) },
    { weight: 1, arbitrary: fc.constantFrom("nothing", "", ".", "name.x", "__proto__", "$typeName", "toString") },
  );
}

function isRefusal(error: unknown): boolean {
  return error instanceof HoltError && error.code === Code.INVALID_ARGUMENT && error.details.fieldViolations?.[0]?.field === "update_mask";
}

for (const schema of SCHEMAS) {
  describe(`a mask over ${schema.typeName}`, () => {
    const message = arbitraryMessage(schema);

    test(`a mask over ${schema.typeName} changes only the fields that it names, as a model on plain objects does`, () => {
      let refused = 0;
      let changed = 0;
      const masks = fc.oneof(
        { weight: 9, arbitrary: fc.array(arbitraryPath(schema), { maxLength: 4 }) },
        { weight: 1, arbitrary: fc.constant(["*"]) },
      );
      fc.assert(
        fc.property(message, message, masks, (current, incoming, paths) => {
          const before = [clone(schema, current as never), clone(schema, incoming as never)];
          const [from, to] = [plainFrom(schema, incoming), plainFrom(schema, current)];
          let wanted: Plain;
          try {
            wanted = modelOf(schema, to, from, paths);
          } catch (error) {
            assert.ok(error instanceof RefusedPath);
            refused++;
            assert.throws(() => applyMask(schema, current as never, incoming as never, { paths }), isRefusal);
            return;
          }
          const next = applyMask(schema, current as never, incoming as never, paths.length === 0 ? undefined : { paths });
          assert.deepEqual(plainFrom(schema, next), wanted);
          assert.deepEqual([current, incoming], before, "an argument was changed");
          if (JSON.stringify(Object.keys(wanted)) !== JSON.stringify(Object.keys(to))) changed++;
        }),
        { numRuns: schema === RepoSchema ? 400 : 1500 },
      );
      assert.ok(refused > 20 && changed > 100, `${refused} refused, ${changed} changed`);
    });

    test(`a mask over ${schema.typeName} changes nothing when it is applied again`, () => {
      fc.assert(
        fc.property(message, message, fc.array(arbitraryPath(schema), { minLength: 1, maxLength: 3 }), (current, incoming, paths) => {
          let once: Message;
          try {
            once = applyMask(schema, current as never, incoming as never, { paths });
          } catch (error) {
            assert.ok(isRefusal(error));
            return;
          }
          assert.deepEqual(applyMask(schema, once as never, incoming as never, { paths }), once);
        }),
        { numRuns: 300 },
      );
    });

    test(`a mask over ${schema.typeName} of all fields keeps only output-only fields`, () => {
      fc.assert(
        fc.property(message, message, (current, incoming) => {
          const next = plainFrom(schema, applyMask(schema, current as never, incoming as never, { paths: ["*"] }));
          const [from, to] = [plainFrom(schema, incoming), plainFrom(schema, current)];
          for (const field of schema.fields) assert.deepEqual(next[field.name], (isOutputOnly(field) ? to : from)[field.name]);
          const writable = plainFrom(schema, writableFields(schema, incoming as never));
          for (const field of schema.fields) assert.deepEqual(writable[field.name], isOutputOnly(field) ? undefined : from[field.name]);
        }),
        { numRuns: 300 },
      );
    });
  });
}

test("an update with an empty mask and an empty message changes nothing", () => {
  const current = create(GroupSchema, { uid: "u", name: "n", description: "d" });
  assert.deepEqual(applyMask(GroupSchema, current, create(GroupSchema), undefined), current);
  assert.deepEqual(applyMask(GroupSchema, current, create(GroupSchema), { paths: [] }), current);
});
