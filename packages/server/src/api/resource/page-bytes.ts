/** Limits the bytes of one page: it ends before the row that would exceed the limit, and the next page begins with that row. Pure. */

/** Bytes of all rows of a page. One larger row makes a page of its own. Clients of gRPC refuse messages of more than 4 MiB by default. */
export const MAX_PAGE_BYTES = 1024 * 1024;

export interface CutPage<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
}

/**
 * @param found the rows of the page, and one more if there is a next page
 * @param limit rows of the page
 */
export function cutPage<Row>(found: readonly Row[], limit: number, bytesOf: (row: Row) => number, maxBytes = MAX_PAGE_BYTES): CutPage<Row> {
  const rows: Row[] = [];
  let sum = 0;
  for (const row of found) {
    sum += bytesOf(row);
    if (rows.length === limit || (sum > maxBytes && rows.length > 0)) break;
    rows.push(row);
  }
  return { rows, hasMore: rows.length < found.length };
}
