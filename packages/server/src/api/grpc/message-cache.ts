/**
 * Binary forms of resources that were read before, alone or in lists. An entry is used only for exactly the stored body that it was made
 * from, so it cannot be out of date, whoever changes the resource. Entries that no call has read for a while make way for new ones.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { uidOfBody } from "../resource/fields-of-body.ts";

interface Entry {
  readonly schema: DescMessage;
  readonly body: string;
  readonly framed: Buffer;
}

/** Bytes of an entry in addition to its body and binary form. */
const ENTRY_BYTES = 300;
/** A larger part of the cache is not kept: it would displace many others, and outlast the limit until they are displaced. */
const MAX_PART = 1 / 16;

export class MessageCache {
  readonly #maxBytes: number;
  /** Entries by uid that were used since the last change of generation, and those used in the one before. */
  #young = new Map<string, Entry>();
  #old = new Map<string, Entry>();
  #youngBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * The length-prefixed message of a body. Many calls share it, so it must not be changed.
   * @param body of a resource, with its uid first
   */
  get(schema: DescMessage, body: string, encode: (body: string) => Buffer): Buffer {
    const uid = uidOfBody(body);
    const young = this.#young.get(uid);
    if (isOf(young, schema, body)) return young.framed;
    const old = this.#old.get(uid);
    const entry = isOf(old, schema, body) ? old : newEntry(schema, body, encode(body));
    if (sizeOf(entry) > this.#maxBytes * MAX_PART) return entry.framed;
    if (young !== undefined) this.#youngBytes -= sizeOf(young);
    // The key must not be a part of the page's text either.
    this.#young.set(uidOfBody(entry.body), entry);
    this.#youngBytes += sizeOf(entry);
    if (this.#youngBytes > this.#maxBytes / 2) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
    return entry.framed;
  }
}

function isOf(entry: Entry | undefined, schema: DescMessage, body: string): entry is Entry {
  return entry !== undefined && entry.schema === schema && entry.body === body;
}

/** Copies both: the body may be a part of the text of a page, which it would keep in memory, and the message a part of a buffer. */
function newEntry(schema: DescMessage, body: string, framed: Buffer): Entry {
  const copy = Buffer.allocUnsafeSlow(framed.length);
  copy.set(framed);
  return { schema, body: Buffer.from(body).toString(), framed: copy };
}

function sizeOf({ body, framed }: Entry): number {
  return body.length + framed.length + ENTRY_BYTES;
}
