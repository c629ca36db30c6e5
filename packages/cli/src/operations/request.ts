/** Builds the REST request of an operation from arguments, flags and a file. */
import type { RestRequest } from "@holt/client/rest";
import type { Invocation } from "../command/invocation.ts";
import { usageFailure } from "../failure.ts";
import { readFields } from "./from-file.ts";
import type { Field, Operation } from "./operation.ts";
import { parseValue } from "./parse-value.ts";

type Json = Record<string, unknown>;

/** @throws Failure if a value cannot be used */
export async function buildRequest(operation: Operation, invocation: Invocation): Promise<RestRequest> {
  const { http, mask } = operation;
  const given = await givenFields(operation, invocation);
  const bodyName = http.body === "" || http.body === "*" ? undefined : jsonNameOf(operation, http.body);
  const file = invocation.option("from-file");
  const message: Json = {};
  const fromFile = file === undefined ? {} : await readFields(file);
  if (file !== undefined) Object.assign(message, bodyName === undefined ? fromFile : { [bodyName]: fromFile });
  for (const { field, value } of given) setAt(message, field.field, value);
  if (mask !== undefined) message[mask.field] = maskOf(operation, given, Object.keys(fromFile));
  requireFields(operation, message);
  return requestOf(operation, message, bodyName);
}

interface Given {
  readonly field: Field;
  readonly value: unknown;
}

async function givenFields({ arguments: positional, flags }: Operation, invocation: Invocation): Promise<Given[]> {
  const texts: { field: Field; text: string | boolean | readonly string[] | undefined }[] = [
    ...positional.map((field) => ({ field, text: invocation.argument(field.name) })),
    ...flags.map((field) => ({ field, text: textOf(field, invocation) })),
  ];
  const given = texts.filter(({ text }) => text !== undefined);
  return Promise.all(given.map(async ({ field, text }) => ({ field, value: await parseValue(field, text as string, invocation) })));
}

function textOf(field: Field, { options, session }: Invocation): string | boolean | readonly string[] | undefined {
  const text = options[field.secret ? `${field.name}-file` : field.name];
  const isParent = field.name === "parent" || field.name === "parent-id";
  return text ?? (isParent && field.kind === "group" ? session().context.group : undefined);
}

/** The fields to change: those of the flags and of the file. The uid only names the resource. */
function maskOf({ http, mask, arguments: positional }: Operation, given: readonly Given[], fileKeys: readonly string[]): string {
  const isWhole = http.body === "*";
  const paths = given
    .filter(({ field }) => !positional.includes(field) && (isWhole || field.proto.startsWith(`${mask?.body}.`)))
    .map(({ field }) => (isWhole ? field.proto.split(".").slice(-1) : field.proto.split(".").slice(1)).join("."));
  const all = [...new Set([...paths, ...fileKeys.filter((key) => key !== "uid")])];
  if (all.length === 0) throw usageFailure("nothing to change is given", "set a field with a flag or --from-file; --help lists them");
  return all.join(",");
}

function requireFields({ flags }: Operation, message: Json): void {
  for (const { name, field, required } of flags)
    if (required && valueAt(message, field) === undefined)
      throw usageFailure(`the option --${name} is missing`, "set it with a flag or --from-file; --help lists the options");
}

function requestOf({ http, arguments: positional, flags, mask }: Operation, message: Json, bodyName: string | undefined): RestRequest {
  const fields = [...positional, ...flags];
  const inPath = new Set<string>();
  const path = http.path
    .replace(/\{([\w.]+)(?:=[^}]*)?\}/g, (_, proto: string) => {
      inPath.add(proto);
      const field = fields.find((each) => each.proto === proto);
      const text = encodePath(String((field && valueAt(message, field.field)) ?? ""));
      if (text === "" && field !== undefined && positional.includes(field)) throw rootRefused(field);
      return text;
    })
    .replace(/\/(?=$|:)/, "");
  for (const field of fields) if (inPath.has(field.proto)) removeAt(message, field.field);
  const updateMask = mask && http.body !== "*" ? { [mask.field]: String(message[mask.field]) } : {};
  if (mask && http.body !== "*") delete message[mask.field];
  if (http.body === "*") return { method: http.method, path, body: message };
  const query = { ...updateMask };
  const asQuery = fields.filter(({ proto, field }) => !inPath.has(proto) && field[0] !== bodyName);
  const parameters = Object.fromEntries(asQuery.map(({ proto, field }) => [proto, queryText(valueAt(message, field))]));
  const body = bodyName === undefined ? {} : { body: message[bodyName] ?? {} };
  return { method: http.method, path, query: { ...query, ...parameters }, ...body };
}

/** Without its resource, the path would be that of the collection, and another operation. */
function rootRefused({ name }: Field): Error {
  return usageFailure(`the argument ${name.toUpperCase()} cannot be the root`, "give a uid, a name or a path of names");
}

function queryText(value: unknown): string | string[] | undefined {
  if (value === undefined) return undefined;
  return Array.isArray(value) ? value.map(String) : String(value);
}

function encodePath(text: string): string {
  return text
    .split("/")
    .filter((segment) => segment !== "")
    .map(encodeURIComponent)
    .join("/")
    .replaceAll("%3A", ":");
}

function jsonNameOf({ flags, arguments: positional }: Operation, proto: string): string {
  return [...flags, ...positional].find((field) => field.proto.startsWith(`${proto}.`))?.field[0] ?? proto;
}

function setAt(message: Json, path: readonly string[], value: unknown): void {
  const last = path.at(-1) ?? "";
  let target = message;
  for (const name of path.slice(0, -1)) {
    target[name] ??= {};
    target = target[name] as Json;
  }
  target[last] = value;
}

function valueAt(message: Json, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Json | undefined)?.[name], message);
}

function removeAt(message: Json, path: readonly string[]): void {
  const parent = valueAt(message, path.slice(0, -1)) as Json | undefined;
  if (parent !== undefined) delete parent[path.at(-1) ?? ""];
}
