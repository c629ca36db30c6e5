/** The bodies of a page's rows, one by one or as one text with commas between them, as in the JSON of a list. */

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
 * Bodies that the store joined. Their text is sent as it is, because each further copy of a page costs as much as finding several of its
 * rows.
 */
export class JoinedBodies implements Bodies {
  readonly text: string;
  readonly bytes: number;
  /** Bytes of each body. */
  readonly #sizes: readonly number[];
  #texts: readonly string[] | undefined;

  /** @param sizes bytes of each body as UTF-8 */
  constructor(text: string, sizes: readonly number[]) {
    this.text = text;
    this.#sizes = sizes;
    this.bytes = Math.max(0, sizes.length - 1) + sum(sizes);
  }

  get size(): number {
    return this.#sizes.length;
  }

  /** Separated at the first call. */
  get texts(): readonly string[] {
    this.#texts ??= this.#separate();
    return this.#texts;
  }

  get last(): string | undefined {
    if (this.size === 0) return undefined;
    return this.#isAscii ? this.text.slice(this.text.length - (this.#sizes.at(-1) ?? 0)) : this.texts.at(-1);
  }

  /** The first bodies, without a copy of them where that is possible. */
  cut(limit: number): { readonly bodies: JoinedBodies; readonly hasMore: boolean } {
    if (this.size <= limit) return { bodies: this, hasMore: false };
    const sizes = this.#sizes.slice(0, limit);
    const rest = sum(this.#sizes.slice(limit)) + this.size - limit;
    const text = this.#isAscii ? this.text.slice(0, this.text.length - rest) : this.texts.slice(0, limit).join(SEPARATOR);
    return { bodies: new JoinedBodies(text, sizes), hasMore: true };
  }

  /** Then bytes and characters have the same positions. */
  get #isAscii(): boolean {
    return this.text.length === this.bytes;
  }

  #separate(): string[] {
    const { text } = this;
    const encoded = this.#isAscii ? undefined : Buffer.from(text);
    let end = -1;
    return this.#sizes.map((size) => {
      const start = end + 1;
      end = start + size;
      return encoded === undefined ? text.slice(start, end) : encoded.toString("utf8", start, end);
    });
  }
}

function sum(numbers: readonly number[]): number {
  let all = 0;
  for (const number of numbers) all += number;
  return all;
}
