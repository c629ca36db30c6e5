/**
 * Binary forms of rows of lists. An entry is used only for exactly the stored body that it was made from, so it cannot be out of date,
 * whoever changes the row. Entries that no list has read for a while make way for new ones.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { uidOfBody } from "../resource/uid-of-body.ts";

interface Entry {
  /** The message type of the list. */
  readonly schema: DescMessage;
  readonly body: string;
  readonly bytes: Uint8Array;
}

/** Bytes of an entry in addition to its body and binary form. */
const ENTRY_BYTES = 300;

export class ElementCache {
  readonly #maxBytes: number;
  /** Entries by uid that were used since the last change of generation, and those used in the one before. */
  #young = new Map<string, Entry>();
  #old = new Map<string, Entry>();
  #youngBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @param encode makes the binary form, whose memory may be used again afterwards */
  get(schema: DescMessage, body: string, encode: () => Uint8Array): Uint8Array {
    const uid = uidOfBody(body);
    const young = this.#young.get(uid);
    if (isOf(young, schema, body)) return young.bytes;
    const old = this.#old.get(uid);
    const entry = isOf(old, schema, body) ? old : newEntry(schema, body, encode());
    if (young !== undefined) this.#youngBytes -= sizeOf(young);
    // The key must not be a part of the page's text either.
    this.#young.set(uidOfBody(entry.body), entry);
    this.#youngBytes += sizeOf(entry);
    if (this.#youngBytes > this.#maxBytes / 2) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
    return entry.bytes;
  }
}

function isOf(entry: Entry | undefined, schema: DescMessage, body: string): entry is Entry {
  return entry !== undefined && entry.schema === schema && entry.body === body;
}

/** Copies both: the body is a part of the text of a page, which it would keep in memory. */
function newEntry(schema: DescMessage, body: string, bytes: Uint8Array): Entry {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return { schema, body: Buffer.from(body).toString(), bytes: copy };
}

function sizeOf({ body, bytes }: Entry): number {
  return body.length + bytes.length + ENTRY_BYTES;
}
