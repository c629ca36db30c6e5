/** Reads the pages of a version 2 list, one after the other, as rows of version 1. */
import type { JsonObject, JsonValue, Message } from "@bufbuild/protobuf";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { assertConnected } from "../call/assert-connected.ts";
import { type Call, JsonText, type Reply } from "../call/call.ts";
import { SeparateBodies } from "../resource/bodies.ts";
import type { Page } from "../resource/list.ts";
import { ListText } from "../resource/list-text.ts";
import type { PagedList, PagedRequest } from "./list-all.ts";

export interface PageOfRows extends Pick<Page, "measure"> {
  /** Without brackets. */
  readonly text: string;
  readonly rows: number;
  /** Rows on all pages; 0 if unknown. */
  readonly totalRows: number;
  readonly isLast: boolean;
}

type Handle = (request: Message, call: Call) => Promise<Reply>;

export async function* readPages(list: PagedList, request: PagedRequest, call: Call): AsyncGenerator<PageOfRows> {
  for (;;) {
    const reply = await (list.handle as Handle)(request as unknown as Message, call);
    const page = reply instanceof ListText ? reply.page : pageOf(reply, list);
    request.pageToken = page.nextPageToken;
    const isLast = page.nextPageToken === "";
    const text = page.bodies.texts.map(list.convert).join(",");
    yield { text, rows: page.bodies.texts.length, totalRows: page.totalCount ?? 0, isLast, measure: page.measure };
    if (isLast) return;
    assertConnected(call);
  }
}

/** The page of a list that assembles its reply itself. */
function pageOf(reply: Reply, { method }: PagedList): Omit<Page, "uids" | "skipped"> {
  const rowsName = method.output.fields[0]?.jsonName ?? "";
  const page = JSON.parse(textOf(reply, compileJsonEncoder(method.output))) as JsonObject;
  const bodies = ((page[rowsName] ?? []) as JsonValue[]).map((row) => JSON.stringify(row));
  return {
    bodies: new SeparateBodies(bodies),
    nextPageToken: (page.nextPageToken ?? "") as string,
    totalCount: Number(page.totalCount ?? 0),
  };
}

export function textOf(reply: Reply, encode: (message: never) => string): string {
  return reply instanceof JsonText ? reply.text : encode(reply as never);
}
