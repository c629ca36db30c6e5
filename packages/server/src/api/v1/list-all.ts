/** Lists of version 1, which have no pages: reads all pages of the version 2 list, up to a limit of rows and bytes. */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  getOption,
  type JsonObject,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import { http } from "@holt/api";
import { type UIDPFilter, UIDPFilterSchema } from "@holt/api/gen/platform/common/v1/uidp_pb.ts";
import { type HoltError, resourceExhausted } from "../../lib/errors.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { assertConnected } from "../call/assert-connected.ts";
import { type Call, JsonText, type Reply } from "../call/call.ts";
import type { Handler } from "../call/implement.ts";
import type { MessageConverter } from "./convert-message.ts";

/** Documented in docs/api.md. */
export const MAX_ROWS = 10_000;
export const MAX_BYTES = 16 * 1024 * 1024;
/** Rows per page of version 2. */
const PAGE_SIZE = 200;

/** The list of version 2 that a list of version 1 reads. */
export interface PagedList {
  readonly method: DescMethodUnary;
  readonly handle: Handler["handle"];
  /** Converts the filter. */
  readonly request: MessageConverter;
  /** Converts one row. */
  readonly convert: (row: JsonObject) => JsonValue;
}

/** The fields of every List request of version 2 that has pages. */
interface PagedRequest {
  uidp?: UIDPFilter | undefined;
  pageSize: number;
  pageToken: string;
}

/** @param output the list of version 1, whose first field has the rows */
export async function listAll(list: PagedList, output: DescMessage, filter: Message, call: Call): Promise<JsonText> {
  const chunks = new Chunks(list.method, call);
  const request = list.request(filter) as unknown as PagedRequest;
  request.pageSize = PAGE_SIZE;
  confineToId(request, (filter as { readonly id?: string }).id ?? "");
  try {
    await readPages(list, request, chunks, call);
    return new JsonText(output, `{"${output.fields[0]?.jsonName}":[${chunks.text()}]}`);
  } finally {
    chunks.release();
  }
}

/** Both the id and the ids of the hierarchy filter must match. */
function confineToId(request: PagedRequest, id: string): void {
  if (id === "") return;
  request.uidp ??= create(UIDPFilterSchema);
  const { ids } = request.uidp;
  // An empty id matches nothing.
  request.uidp.ids = [ids.length === 0 || ids.includes(id) ? id : ""];
}

/** Keeps the rows directly below `parent`, in addition to the hierarchy filter. `/` stands for the root. */
export function confineToChildren(request: { uidp?: UIDPFilter | undefined }, parent: string): void {
  if (parent === "") return;
  request.uidp ??= create(UIDPFilterSchema);
  const { childrenOf } = request.uidp;
  if (childrenOf === "" || childrenOf === parent) request.uidp.childrenOf = parent;
  else request.uidp.ids = [""];
}

async function readPages({ method, handle, convert }: PagedList, request: PagedRequest, chunks: Chunks, call: Call): Promise<void> {
  const rowsName = method.output.fields[0]?.jsonName ?? "";
  const encode = compileJsonEncoder(method.output);
  for (;;) {
    const page = JSON.parse(textOf(await (handle as Handle)(request as unknown as Message, call), encode)) as JsonObject;
    chunks.expect(Number(page.totalCount ?? 0));
    chunks.add(((page[rowsName] ?? []) as JsonObject[]).map(convert));
    request.pageToken = (page.nextPageToken ?? "") as string;
    if (request.pageToken === "") return;
    assertConnected(call);
  }
}
type Handle = (request: Message, call: Call) => Promise<Reply>;

export function textOf(reply: Reply, encode: (message: never) => string): string {
  return reply instanceof JsonText ? reply.text : encode(reply as never);
}

/** The JSON of the rows so far. Its bytes count as unread bytes of the caller. */
class Chunks {
  readonly #chunks: string[] = [];
  readonly #paged: DescMethodUnary;
  readonly #call: Call;
  #rows = 0;
  #bytes = 0;

  constructor(paged: DescMethodUnary, call: Call) {
    this.#paged = paged;
    this.#call = call;
  }

  /** @throws RESOURCE_EXHAUSTED if there will be too many rows */
  expect(rows: number): void {
    if (rows > MAX_ROWS) throw tooMuch(`${MAX_ROWS} results`, this.#paged);
  }

  /** @throws RESOURCE_EXHAUSTED */
  add(rows: readonly JsonValue[]): void {
    if (rows.length === 0) return;
    const chunk = JSON.stringify(rows).slice(1, -1);
    const bytes = Buffer.byteLength(chunk);
    this.#rows += rows.length;
    this.expect(this.#rows);
    if (this.#bytes + bytes > MAX_BYTES) throw tooMuch(`${MAX_BYTES / 1024 / 1024} MiB`, this.#paged);
    this.#call.metadata.collect(bytes);
    this.#bytes += bytes;
    this.#chunks.push(chunk);
  }

  text(): string {
    return this.#chunks.join(",");
  }

  release(): void {
    this.#call.metadata.collect(-this.#bytes);
  }
}

function tooMuch(limit: string, paged: DescMethodUnary): HoltError {
  const path = String(getOption(paged, http).pattern.value).split("/{", 1)[0];
  return resourceExhausted(`this list has more than ${limit}; narrow it by a filter, or read it in pages with GET ${path}`);
}
