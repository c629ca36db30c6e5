/** Collects the rows of a list of version 1 that is sent as a whole, and limits lists. */
import { type DescMethodUnary, getOption } from "@bufbuild/protobuf";
import { http } from "@holt/api";
import { type HoltError, resourceExhausted } from "../../lib/errors.ts";
import type { Call } from "../call/call.ts";
import type { ListSize } from "../resource/count-rows.ts";
import type { PageOfRows } from "./read-pages.ts";

/** Documented in docs/errors-and-limits.md. */
export const MAX_ROWS = 100_000;
const MEBIBYTE = 1024 * 1024;
export const MAX_WHOLE_LIST_BYTES = 16 * MEBIBYTE;
const MAX_STREAMED_LIST_BYTES = 256 * MEBIBYTE;

/** The JSON of the rows so far. Its bytes count as unread bytes of the caller. */
export class CollectedRows {
  readonly #chunks: string[] = [];
  readonly #paged: DescMethodUnary;
  readonly #call: Call;
  #rows = 0;
  #bytes = 0;

  constructor(paged: DescMethodUnary, call: Call) {
    this.#paged = paged;
    this.#call = call;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @throws RESOURCE_EXHAUSTED if there will be too many rows */
  expect(rows: number): void {
    if (rows > MAX_ROWS) throw tooMuch(`${MAX_ROWS} results`, this.#paged);
  }

  /** @throws RESOURCE_EXHAUSTED */
  add({ text, rows }: PageOfRows): void {
    if (rows === 0) return;
    const bytes = Buffer.byteLength(text);
    this.#rows += rows;
    this.expect(this.#rows);
    if (this.#bytes + bytes > MAX_WHOLE_LIST_BYTES) throw tooMuch(`${MAX_WHOLE_LIST_BYTES / MEBIBYTE} MiB`, this.#paged);
    this.#call.metadata.collect(bytes);
    this.#bytes += bytes;
    this.#chunks.push(text);
  }

  text(): string {
    return this.#chunks.join(",");
  }

  release(): void {
    this.#call.metadata.collect(-this.#bytes);
  }
}

/** @throws RESOURCE_EXHAUSTED if the list is too large to be sent in chunks */
export function assertFits({ rows, bytes }: ListSize, paged: DescMethodUnary): void {
  if (rows > MAX_ROWS) throw tooMuch(`${MAX_ROWS} results`, paged);
  if (bytes > MAX_STREAMED_LIST_BYTES) throw tooMuch(`${MAX_STREAMED_LIST_BYTES / MEBIBYTE} MiB`, paged);
}

function tooMuch(limit: string, paged: DescMethodUnary): HoltError {
  const path = String(getOption(paged, http).pattern.value).split("/{", 1)[0];
  return resourceExhausted(`this list has more than ${limit}; narrow it by a filter, or read it in pages with GET ${path}`);
}
