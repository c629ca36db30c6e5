/**
 * The standard Get, List and Delete (AIP-131, 132, 135) of a resource, as handlers. A handler that the service writes itself takes the
 * place of one of these. Create and Update are always the service's: each has consequences for access that only the service knows.
 */
import { create as createMessage, type DescMessage, type DescService } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { RawBuilder } from "kysely";
import type { UidRange } from "../../lib/uid.ts";
import type { Call, WriteCall } from "../call/call.ts";
import { JsonText } from "../call/call.ts";
import { type Handlers, read, write } from "../call/implement.ts";
import type { StoredTest } from "./counted-page.ts";
import type { Resource } from "./define.ts";
import { getBody } from "./get.ts";
import { type ListRequest, type ListTerms, listPage } from "./list.ts";
import { listResponse } from "./list-text.ts";
import type { PageTokens } from "./page-token.ts";
import { remove } from "./write.ts";

/** Get answers the full view, List the summary. For most resources the two are the same. */
export type View = "full" | "summary";

/** How a resource is read, as far as its definition does not say so. */
export interface Reading {
  readonly pageTokens: PageTokens;
  /**
   * Completes stored bodies with what is stored elsewhere: one text for each body, in the same order. Without it bodies are sent as
   * stored.
   */
  show?(bodies: readonly string[], call: Call, view: View): Promise<readonly string[]>;
  /** Whether `show` leaves the bodies of all rows within the range as they are stored. */
  isShownAsStored?(range: UidRange, hasRootRows: boolean): boolean | StoredTest;
  /** SQL of the bytes of a body that `show` completed for a List. */
  readonly bytesOfRow?: RawBuilder<unknown>;
  /** Terms of a List beyond its equality filters. */
  listTerms?(request: ListRequest, call: Call): ListTerms;
}

/** Handlers of Get, List and Delete, where the service has these methods. */
export function standardMethods<S extends DescService, Desc extends DescMessage>(
  service: S,
  resource: Resource<Desc>,
  reading: Reading,
): Handlers<S> {
  const handlers: Record<string, unknown> = {};
  for (const { name, localName, output } of service.methods) {
    if (name === `Get${resource.kind}`) handlers[localName] = standardGet(resource, reading);
    else if (name === `Delete${resource.kind}`) handlers[localName] = standardDelete(resource);
    else if (name.startsWith("List") && output.fields[0]?.message === resource.schema)
      handlers[localName] = standardList(resource, output, reading);
  }
  return handlers as Handlers<S>;
}

function standardGet<Desc extends DescMessage>(resource: Resource<Desc>, { show }: Reading) {
  if (show === undefined) return read((request, call) => getBody(resource, uidOf(request), call.db));
  return read(async (request, call) => {
    const stored = await getBody(resource, uidOf(request), call.db);
    const [text = stored.text] = await show([stored.text], call, "full");
    return new JsonText(resource.schema, text);
  });
}

function standardList(resource: Resource, output: DescMessage, { pageTokens, show, isShownAsStored, bytesOfRow, listTerms }: Reading) {
  return read(async (request, call) => {
    const list = request as unknown as ListRequest;
    const bodiesOf = (rows: readonly { readonly body: string }[]) => rows.map(({ body }) => body);
    const showRows = show && ((rows: readonly { readonly body: string }[]) => show(bodiesOf(rows), call, "summary"));
    const reading = { pageTokens, show: showRows, isShownAsStored, bytesOfRow };
    return listResponse(output, await listPage(resource, list, call, { ...reading, ...listTerms?.(list, call) }));
  });
}

function standardDelete(resource: Resource) {
  return write(async (request, call: WriteCall) => {
    await remove(resource, uidOf(request), call.db);
    return createMessage(EmptySchema);
  });
}

function uidOf(request: unknown): string {
  return (request as { readonly uid: string }).uid;
}
