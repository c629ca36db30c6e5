/** A List operation of the contract, by what all of them have in common. */
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";

/** Fields of every List response besides its items. */
export interface Page {
  readonly nextPageToken: string;
  /** Number of matches on all pages; absent where the operation does not count. */
  readonly totalCount?: bigint;
}

export interface ListSource<Request extends DescMessage, Answer extends DescMessage, Item> {
  readonly method: DescMethodUnary<Request, Answer>;
  /** Which items, without page token, page size and order. */
  readonly request: MessageInitShape<Request>;
  readonly itemsOf: (answer: MessageShape<Answer>) => readonly Item[];
}

/** The most that the API puts on one page. */
export const MAX_PAGE_SIZE = 200;

export function pageRequest<Request extends DescMessage>(
  request: MessageInitShape<Request>,
  { pageToken, pageSize, orderBy }: { readonly pageToken: string; readonly pageSize: number; readonly orderBy: string },
): MessageInitShape<Request> {
  return { ...(request as object), pageToken, pageSize, ...(orderBy !== "" && { orderBy }) } as unknown as MessageInitShape<Request>;
}
