/**
 * Reads fields of untrusted documents. Each value has the expected type, a limited size and only storable characters;
 * otherwise a BadRecord says where. Pure.
 */
import { isCleanText } from "../../lib/clean-text.ts";
import { BadRecord } from "./record.ts";

/** A value and its position in the document. The pointer is computed on demand. */
export class Node {
  readonly value: unknown;
  readonly #parent: Node | string;
  readonly #name: string | number;

  /** @param parent a string for the document itself: its pointer */
  constructor(value: unknown, parent: Node | string, name: string | number = "") {
    this.value = value ?? undefined;
    this.#parent = parent;
    this.#name = name;
  }

  /** JSON pointer (RFC 6901). */
  get pointer(): string {
    if (typeof this.#parent === "string") return this.#parent;
    return `${this.#parent.pointer}/${String(this.#name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
  }

  /** Another value at the same position. */
  withValue(value: unknown): Node {
    return new Node(value, this.#parent, this.#name);
  }
}

/** Characters of ids, names and types, which are keys of indexes. */
export const MAX_NAME = 255;
/** Characters of notes and summaries. Longer ones are cut. */
const MAX_NOTE = 10_000;

export function child(node: Node, name: string): Node {
  const { value } = node;
  const isPresent = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return new Node(isPresent ? (value as Record<string, unknown>)[name] : undefined, node, name);
}

export function isAbsent({ value }: Node): boolean {
  return value === undefined;
}

/** The fields of an object. Empty if the object is absent. */
export function entriesOf(node: Node): readonly (readonly [string, Node])[] {
  if (isAbsent(node)) return [];
  const object = objectOf(node);
  return Object.keys(object).map((name) => [name, child(node, name)]);
}

function objectOf(node: Node): Record<string, unknown> {
  const { value } = node;
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new BadRecord(node.pointer, "must be an object");
  return value as Record<string, unknown>;
}

const NO_NODES: readonly Node[] = [];

/** The elements of a list. Empty if the list is absent. */
export function elementsOf(node: Node, max = 100_000): readonly Node[] {
  if (isAbsent(node)) return NO_NODES;
  if (!Array.isArray(node.value)) throw new BadRecord(node.pointer, "must be a list");
  if (node.value.length > max) throw new BadRecord(node.pointer, `must have at most ${max} elements`);
  return node.value.map((value: unknown, index) => new Node(value, node, index));
}

/** A required string that is used as an identifier: it is trimmed, but never cut. */
export function nameOf(node: Node, max = MAX_NAME): string {
  const text = optionalName(node, max);
  if (text === "") throw new BadRecord(node.pointer, "missing");
  return text;
}

/** Like `nameOf`, but empty if the field is absent. */
export function optionalName(node: Node, max = MAX_NAME): string {
  const { value } = node;
  if (value === undefined) return "";
  if (typeof value !== "string") throw new BadRecord(node.pointer, "must be a string");
  const text = value.trim();
  if (text.length > max) throw new BadRecord(node.pointer, `must have at most ${max} characters`);
  if (!isCleanText(text)) throw new BadRecord(node.pointer, "contains control characters or broken Unicode");
  return text;
}

/** A text for readers: cut if it is too long, and without characters that cannot be stored. Empty if the field is absent. */
export function noteOf(node: Node, max = MAX_NOTE): string {
  const { value } = node;
  if (value === undefined) return "";
  if (typeof value !== "string") throw new BadRecord(node.pointer, "must be a string");
  const text = value.length > max ? `${value.slice(0, max - 1)}…` : value;
  return (text.includes("\0") ? text.replaceAll("\0", "") : text).toWellFormed();
}
