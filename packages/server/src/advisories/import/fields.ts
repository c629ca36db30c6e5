/** Reads fields out of what strangers wrote: each is what it should be, bounded and fit for every store, or a BadRecord says where it is not. Pure. */
import { isCleanText } from "../../lib/clean-text.ts";
import { BadRecord } from "./record.ts";

/** A value and where in its document it stands, of which the pointer is made only when somebody asks. */
export class Node {
  readonly value: unknown;
  readonly #parent: Node | string;
  readonly #name: string | number;

  /** @param parent the pointer of the document itself */
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

  /** The same place with what was made of its value. */
  holding(value: unknown): Node {
    return new Node(value, this.#parent, this.#name);
  }
}

/** Of ids, names and kinds, which are keys of indexes. */
export const MAX_NAME = 255;
/** Of notes and summaries; longer ones are cut. */
export const MAX_NOTE = 10_000;

export function child(node: Node, name: string): Node {
  const { value } = node;
  const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return new Node(isThere ? (value as Record<string, unknown>)[name] : undefined, node, name);
}

export function isAbsent({ value }: Node): boolean {
  return value === undefined;
}

/** An object's fields, or none where it is absent. */
export function entriesOf(node: Node): readonly (readonly [string, Node])[] {
  if (isAbsent(node)) return [];
  const object = objectOf(node);
  return Object.keys(object).map((name) => [name, child(node, name)]);
}

export function objectOf(node: Node): Record<string, unknown> {
  const { value } = node;
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new BadRecord(node.pointer, "it must be an object");
  return value as Record<string, unknown>;
}

const NOTHING: readonly Node[] = [];

/** A list's elements, or none where it is absent. */
export function elementsOf(node: Node, max = 100_000): readonly Node[] {
  if (isAbsent(node)) return NOTHING;
  if (!Array.isArray(node.value)) throw new BadRecord(node.pointer, "it must be a list");
  if (node.value.length > max) throw new BadRecord(node.pointer, `it must have no more than ${max} elements`);
  return node.value.map((value: unknown, index) => new Node(value, node, index));
}

/** Text that means something by itself: neither cut nor changed. */
export function nameOf(node: Node, max = MAX_NAME): string {
  const text = optionalName(node, max);
  if (text === "") throw new BadRecord(node.pointer, "it is missing");
  return text;
}

/** The same; the empty string where it is absent. */
export function optionalName(node: Node, max = MAX_NAME): string {
  const { value } = node;
  if (value === undefined) return "";
  if (typeof value !== "string") throw new BadRecord(node.pointer, "it must be text");
  const text = value.trim();
  if (text.length > max) throw new BadRecord(node.pointer, `it must be no longer than ${max} characters`);
  if (!isCleanText(text)) throw new BadRecord(node.pointer, "it has characters that no name has");
  return text;
}

/** Text for people: cut where it is too long, and without what stores refuse. The empty string where it is absent. */
export function noteOf(node: Node, max = MAX_NOTE): string {
  const { value } = node;
  if (value === undefined) return "";
  if (typeof value !== "string") throw new BadRecord(node.pointer, "it must be text");
  const text = value.length > max ? `${value.slice(0, max - 1)}…` : value;
  return (text.includes("\0") ? text.replaceAll("\0", "") : text).toWellFormed();
}
