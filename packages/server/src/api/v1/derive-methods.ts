/** Makes the handlers of a version 1 service from those of version 2: each converts its request, runs the other and converts the reply. */
import { create, type DescField, type DescMessage, type DescMethodUnary, type DescService, type Message } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { JsonText, type Reply } from "../call/call.ts";
import type { Handler, Handlers, ServiceImplementation } from "../call/implement.ts";
import { fullName } from "../call/operation.ts";
import { compileValidator } from "../call/validate.ts";
import { compileMask, compileMessageConverter, type MessageConverter } from "./convert-message.ts";
import { compileTextConverter } from "./convert-text.ts";
import { type MessagePair, pairsOf, translateError } from "./field-names.ts";
import type { Differences } from "./field-pairs.ts";
import { listAll } from "./list-all.ts";
import { textOf } from "./read-pages.ts";

/** The version 2 of a service. */
export interface Origin {
  readonly services: readonly ServiceImplementation[];
  /** Name of the resource, which methods of version 1 leave out: `Create` stands for `CreateGroup`. */
  readonly kind: string;
  readonly differences?: Differences;
  /** Name of a method of version 1 → its name in version 2, where the two do not follow from each other. */
  readonly methods?: Readonly<Record<string, string>>;
}

/** @returns handlers of all methods that have an implemented version 2; the service writes the others, or replaces some */
export function deriveMethods<S extends DescService>(service: S, origin: Origin): Handlers<S> {
  const derived = service.methods.flatMap((method) => {
    const found = findMethod(method.name, origin);
    return found === undefined ? [] : [[method.localName, derive(method as DescMethodUnary, found, origin.differences ?? {})]];
  });
  return Object.fromEntries(derived) as Handlers<S>;
}

const STANDARD = ["Get", "Create", "Update", "Delete"];

interface Implemented {
  readonly method: DescMethodUnary;
  readonly handler: Handler;
}

function findMethod(name: string, { services, kind, methods = {} }: Origin): Implemented | undefined {
  const isNamed = (candidate: string) =>
    candidate === (methods[name] ?? (STANDARD.includes(name) ? name + kind : name)) || (name === "List" && candidate.startsWith("List"));
  for (const { service, handlers } of services) {
    const method = service.methods.find((candidate) => isNamed(candidate.name));
    const handler = method === undefined ? undefined : handlers.get(fullName(method));
    if (method !== undefined && handler !== undefined) return { method: method as DescMethodUnary, handler };
  }
  return undefined;
}

function derive(v1: DescMethodUnary, { method: v2, handler }: Implemented, differences: Differences): Handler {
  if (v2.input.field.pageToken !== undefined && v1.input.field.pageToken === undefined)
    return deriveList(v1, { method: v2, handler }, differences);
  const { convert: request, pairs } = compileRequest(v1.input, v2.input, differences);
  const reply = compileReply(v2.output, v1.output, differences);
  const translated = compileTranslation(pairs, differences);
  if (handler.kind === "read")
    return { kind: "read", handle: (given, call) => translated(async () => reply(await handler.handle(request(given), call))) };
  const { prepare, handle } = handler;
  return {
    kind: "write",
    ...(prepare && { prepare: (given, call) => translated(async () => prepare(request(given), call)) }),
    handle: (given, call, prepared) => translated(async () => reply(await handle(request(given), call, prepared))),
  };
}

function deriveList(v1: DescMethodUnary, { method, handler }: Implemented, differences: Differences): Handler {
  const from = method.output.fields[0]?.message;
  const to = v1.output.fields[0]?.message;
  if (from === undefined || to === undefined) throw new Error(`${fullName(v1)}: the first field of a list must be its rows`);
  const convert = compileTextConverter(from, to, differences);
  const { typeName } = v1.input;
  const difference = differences[typeName] ?? {};
  const filters = { ...differences, [typeName]: { ...difference, absent: ["id", ...(difference.absent ?? [])] } };
  const list = { method, handle: handler.handle, request: compileMessageConverter(v1.input, method.input, filters), convert };
  const translated = compileTranslation(pairsOf({ v1: v1.input, v2: method.input }, filters), filters);
  return { kind: "read", handle: (filter, call) => translated(() => listAll(list, v1.output, filter, call)) };
}

/** Runs a handler of version 2, whose violations then name the fields of version 1. */
function compileTranslation(pairs: readonly MessagePair[], differences: Differences): <T>(run: () => Promise<T>) => Promise<T> {
  return (run) =>
    run().catch((error) => {
      throw translateError(error, pairs, differences);
    });
}

interface RequestConversion {
  readonly convert: MessageConverter;
  /** The messages that the fields in violations belong to. */
  readonly pairs: readonly MessagePair[];
}

/** Converts a request, or makes one from a whole resource, and checks it as a request of version 2. */
function compileRequest(v1: DescMessage, v2: DescMessage, differences: Differences): RequestConversion {
  const { convert, pairs } = compileUnchecked(v1, v2, differences);
  const validate = compileValidator(v2);
  const checked = (given: Message): Message => {
    const request = convert(given);
    validate(request);
    return request;
  };
  return { convert: checked, pairs };
}

function compileUnchecked(v1: DescMessage, v2: DescMessage, differences: Differences): RequestConversion {
  const mask = v2.fields.find((field) => field.message?.typeName === FieldMaskSchema.typeName);
  const hasMask = v1.fields.some((field) => field.message?.typeName === FieldMaskSchema.typeName);
  if (mask !== undefined && !hasMask) return compileUpdate(v1, v2, mask, differences);
  if (differences[v1.typeName]?.parent !== undefined) return compileCreate(v1, v2, differences);
  return { convert: compileMessageConverter(v1, v2, differences), pairs: pairsOf({ v1, v2 }, differences) };
}

/** A request to create that is the whole resource, with its parent among the fields. */
function compileCreate(v1: DescMessage, v2: DescMessage, differences: Differences): RequestConversion {
  const parent = v1.fields.find(({ name }) => name === differences[v1.typeName]?.parent);
  const resource = v2.fields.find((field) => field.fieldKind === "message");
  if (parent === undefined || resource?.message === undefined) throw new Error(`${v1.typeName}: a new resource must have a parent`);
  const convert = compileMessageConverter(v1, resource.message, differences);
  const creation: MessageConverter = (given) => {
    const request = create(v2) as unknown as Record<string, unknown>;
    request.parent = (given as unknown as Record<string, unknown>)[parent.localName];
    request[resource.localName] = convert(given);
    return request as unknown as Message;
  };
  return { convert: creation, pairs: [{ v1, v2: resource.message }] };
}

function compileUpdate(v1: DescMessage, v2: DescMessage, mask: DescField, differences: Differences): RequestConversion {
  const resource = v2.fields.find((field) => field !== mask && field.fieldKind === "message");
  if (resource?.message === undefined) throw new Error(`${v2.typeName}: an update must have one resource`);
  const convert = compileMessageConverter(v1, resource.message, differences);
  const pathsOf = compileMask(v1, resource.message, differences);
  const update: MessageConverter = (given) => {
    const request = create(v2) as unknown as Record<string, unknown>;
    request[resource.localName] = convert(given);
    request[mask.localName] = create(FieldMaskSchema, { paths: pathsOf(given) });
    return request as unknown as Message;
  };
  return { convert: update, pairs: [{ v1, v2: resource.message }] };
}

function compileReply(v2: DescMessage, v1: DescMessage, differences: Differences): (reply: Reply) => Reply {
  if (v1.typeName === v2.typeName) return (reply) => reply;
  const convert = compileTextConverter(v2, v1, differences);
  const encode = compileJsonEncoder(v2);
  return (reply) => new JsonText(v1, convert(textOf(reply, encode)));
}
