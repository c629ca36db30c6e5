/** Converts the text of a flag into the JSON value of a field. */
import { readFile } from "node:fs/promises";
import type { Invocation } from "../command/invocation.ts";
import { nearest } from "../command/nearest.ts";
import { usageFailure } from "../failure.ts";
import { parseDuration } from "../output/human.ts";
import { parseDocument, readText } from "./from-file.ts";
import type { Field } from "./operation.ts";

/** @throws Failure if the text has no value of the field's type */
export async function parseValue(field: Field, given: string | boolean | readonly string[], invocation: Invocation): Promise<unknown> {
  if (typeof given === "boolean") return given;
  if (field.secret) return (await readText(given as string)).trim();
  const texts = typeof given === "string" ? [given] : given;
  if (field.type === "map") return Object.fromEntries(texts.map((text) => pairOf(field, text)));
  const values = await Promise.all(texts.map((text) => parseOne(field, text, invocation)));
  return field.repeated ? values : values.at(-1);
}

async function parseOne(field: Field, text: string, invocation: Invocation): Promise<unknown> {
  switch (field.type) {
    case "number":
      return parseNumber(field, text);
    case "enum":
      return parseEnum(field, text);
    case "duration":
      return parseDurationField(field, text);
    case "time":
      return parseTime(field, text);
    case "json":
      return parseDocument(await contentOf(text), `--${field.name}`);
    case "bytes":
      return text.startsWith("@") ? (await readFile(text.slice(1))).toString("base64") : text;
    default:
      return parseText(field, text, invocation);
  }
}

/** "/" stands for the root, which has no uid. */
async function parseText({ kind, name }: Field, text: string, invocation: Invocation): Promise<string> {
  if (kind === undefined) return contentOf(text);
  if (text === "/") return name === "children-of" ? "/" : "";
  return invocation.uid(kind, text);
}

/** `@FILE` is the content of a file; `@@` begins a text with one @. */
async function contentOf(text: string): Promise<string> {
  if (text.startsWith("@@")) return text.slice(1);
  return text.startsWith("@") ? readFile(text.slice(1), "utf8") : text;
}

function parseNumber(field: Field, text: string): number | string {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw invalid(field, text, "a number");
  return Number.isSafeInteger(Number(text)) || text.includes(".") ? Number(text) : text;
}

function parseEnum(field: Field, text: string): string {
  const values = field.values ?? {};
  const found = Object.hasOwn(values, text) ? values[text] : Object.values(values).find((name) => name === text);
  if (found === undefined) throw unknownValue(field, text, Object.keys(values));
  return found;
}

const MAX_SHOWN_VALUES = 40;

/** Suggests one value, or lists some of them: there are hundreds of capabilities. */
function unknownValue(field: Field, text: string, values: readonly string[]): Error {
  const meant = nearest(text, values);
  if (meant !== undefined) return usageFailure(`--${field.name}: there is no value "${text}"; did you mean ${meant}?`);
  const shown = values.slice(0, MAX_SHOWN_VALUES).join(", ");
  return invalid(
    field,
    text,
    `one of ${shown}${values.length > MAX_SHOWN_VALUES ? ` and ${values.length - MAX_SHOWN_VALUES} others` : ""}`,
  );
}

function parseDurationField(field: Field, text: string): string {
  const seconds = parseDuration(text);
  if (seconds === undefined) throw invalid(field, text, "a duration such as 90s, 12h, 7d or 1h30m");
  return `${seconds}s`;
}

/** RFC 3339, a date, `now`, `7d ago` or `in 7d`. */
export function parseTime(field: Pick<Field, "name">, text: string, now: Date = new Date()): string {
  const [, before, after] = /^(?:(\S+) ago|in (\S+))$/.exec(text) ?? [];
  const seconds = parseDuration(before ?? after ?? "");
  if (text === "now") return now.toISOString();
  if (seconds !== undefined) return new Date(now.getTime() + (before === undefined ? seconds : -seconds) * 1000).toISOString();
  if (!/^\d{4}-\d{2}-\d{2}(T|$)/.test(text) || Number.isNaN(Date.parse(text)))
    throw invalid(field, text, 'a time such as 2026-01-31T12:00:00Z, "7d ago" or "in 7d"');
  return new Date(text).toISOString();
}

function pairOf(field: Field, text: string): [string, string] {
  const at = text.indexOf("=");
  if (at <= 0) throw invalid(field, text, "KEY=VALUE");
  return [text.slice(0, at), text.slice(at + 1)];
}

function invalid({ name }: Pick<Field, "name">, text: string, expected: string): Error {
  return usageFailure(`--${name}: "${text}" must be ${expected}`);
}
