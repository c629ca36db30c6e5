/** The bodies of a page's rows, one by one or as one text with commas between them, as in the JSON of a list. */
import { BODY_START } from "./fields-of-body.ts";

export interface Bodies {
  /** The bodies one by one. */
  readonly texts: readonly string[];
  /** All bodies, joined by the separator. */
  readonly text: string;
  /** Bytes of `text` as UTF-8. */
  readonly bytes: number;
}

/** Between two bodies. */
export const SEPARATOR = ",";

/** The separator and the start of the next body. A body of a separable message does not contain it. */
const BOUNDARY = `${SEPARATOR}${BODY_START}`;

/** Bodies that were read one by one. */
export class SeparateBodies implements Bodies {
  readonly texts: readonly string[];
  #text: string | undefined;

  constructor(texts: readonly string[]) {
    this.texts = texts;
  }

  get text(): string {
    this.#text ??= this.texts.join(SEPARATOR);
    return this.#text;
  }

  get bytes(): number {
    return Buffer.byteLength(this.text);
  }
}

/**
 * Bodies of a separable message that the store joined. Their text is sent as it is, because each further copy of a page costs as much as
 * finding several of its rows.
 */
export class JoinedBodies implements Bodies {
  readonly text: string;
  readonly bytes: number;
  /** Number of bodies. */
  readonly size: number;
  #texts: readonly string[] | undefined;

  constructor({ text, bytes, size }: Pick<JoinedBodies, "text" | "bytes" | "size">) {
    this.text = text;
    this.bytes = bytes;
    this.size = size;
  }

  /** Separated at the first call. */
  get texts(): readonly string[] {
    this.#texts ??= this.#separate();
    return this.#texts;
  }

  get last(): string | undefined {
    return this.size === 0 ? undefined : this.text.slice(this.text.lastIndexOf(BOUNDARY) + SEPARATOR.length);
  }

  /** The first bodies, without a copy of them. @param limit at least 1 */
  cut(limit: number): { readonly bodies: JoinedBodies; readonly hasMore: boolean } {
    if (this.size <= limit) return { bodies: this, hasMore: false };
    let end = this.text.length;
    for (let size = this.size; size > limit; size--) end = this.text.lastIndexOf(BOUNDARY, end - 1);
    const bytes = this.bytes - Buffer.byteLength(this.text.slice(end));
    return { bodies: new JoinedBodies({ text: this.text.slice(0, end), bytes, size: limit }), hasMore: true };
  }

  #separate(): string[] {
    const texts: string[] = [];
    let start = 0;
    while (texts.length < this.size) {
      const end = this.text.indexOf(BOUNDARY, start);
      texts.push(this.text.slice(start, end === -1 ? undefined : end));
      start = end + SEPARATOR.length;
    }
    return texts;
  }
}
