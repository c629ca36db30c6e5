/** Lists of version 1, which have no pages: reads all pages of the version 2 list, up to a limit of rows and bytes. */
import { create, type DescMessage, type DescMethodUnary, type Message } from "@bufbuild/protobuf";
import { type UIDPFilter, UIDPFilterSchema } from "@holt/api/gen/platform/common/v1/uidp_pb.ts";
import { type Call, JsonText, StreamedText } from "../call/call.ts";
import type { Handler } from "../call/implement.ts";
import { assertFits, CollectedRows, MAX_ROWS } from "./collected-rows.ts";
import type { MessageConverter } from "./convert-message.ts";
import type { TextConverter } from "./convert-text.ts";
import { type PageOfRows, readPages } from "./read-pages.ts";

/** Rows per page of version 2. */
const PAGE_SIZE = 200;
/** Bytes of rows that are collected before they are sent. */
const STREAMED_FROM_BYTES = 1024 * 1024;

/** The list of version 2 that a list of version 1 reads. */
export interface PagedList {
  readonly method: DescMethodUnary;
  readonly handle: Handler["handle"];
  /** Converts the filter. */
  readonly request: MessageConverter;
  /** Converts one row. */
  readonly convert: TextConverter;
}

/** The fields of every List request of version 2 that has pages. */
export interface PagedRequest {
  uidp?: UIDPFilter | undefined;
  pageSize: number;
  pageToken: string;
}

/**
 * Over REST, a long list is sent while it is read.
 * @param output the list of version 1, whose first field has the rows
 * @throws RESOURCE_EXHAUSTED above the limits, before anything is sent
 */
export async function listAll(list: PagedList, output: DescMessage, filter: Message, call: Call): Promise<JsonText> {
  const request = list.request(filter) as unknown as PagedRequest;
  request.pageSize = PAGE_SIZE;
  confineToId(request, (filter as { readonly id?: string }).id ?? "");
  const pages = readPages(list, request, call);
  const begin = `{"${output.fields[0]?.jsonName}":[`;
  const collected = new CollectedRows(list.method, call);
  try {
    // A loop over the pages would end them when it returns.
    for (let next = await pages.next(); !next.done; next = await pages.next()) {
      const { totalRows, isLast, measure } = next.value;
      collected.expect(totalRows);
      collected.add(next.value);
      if (isLast || call.metadata.protocol !== "rest" || measure === undefined || collected.bytes < STREAMED_FROM_BYTES) continue;
      assertFits(await measure(MAX_ROWS), list.method);
      return new StreamedText(output, stream(`${begin}${collected.text()}`, pages));
    }
    return new JsonText(output, `${begin}${collected.text()}]}`);
  } finally {
    collected.release();
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

async function* stream(begin: string, others: AsyncIterable<PageOfRows>): AsyncGenerator<string> {
  yield begin;
  for await (const { text } of others) if (text !== "") yield `,${text}`;
  yield "]}";
}
