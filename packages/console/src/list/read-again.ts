/**
 * Reads a long list again, but only the pages that the person sees. The other pages stay as they are, and are read when they
 * become visible. Page tokens carry the key of an entry, so each page can be read alone.
 */
import type { InfiniteData } from "@tanstack/react-query";

export interface ListPage<Item> {
  readonly items: readonly Item[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
  /** Number of matches on all pages; undefined where the operation does not count. */
  readonly total: number | undefined;
  /** Whether the list was read again without this page. */
  readonly isOld?: boolean;
}

/** Pages by their page tokens. */
export type ListPages<Item> = InfiniteData<ListPage<Item>, string>;

/** Indexes of pages, both inclusive. */
export interface PageRange {
  readonly first: number;
  readonly last: number;
}

export interface PageReader<Item> {
  readonly keyOf: (item: Item) => string;
  /** Should read more entries than a page has, because entries may have been added. */
  readonly read: (pageToken: string) => Promise<ListPage<Item>>;
}

export async function readAgain<Item>(
  { pages, pageParams }: ListPages<Item>,
  { first, last }: PageRange,
  { keyOf, read }: PageReader<Item>,
): Promise<ListPages<Item>> {
  const isVisible = (index: number) => index >= first && index <= last;
  const mixed = await Promise.all(
    pages.map((page, index) => (isVisible(index) ? read(pageParams[index] ?? "") : { ...page, isOld: true as const })),
  );
  const joined: ListPage<Item>[] = [];
  for (const [index, page] of mixed.entries()) {
    const following = mixed.slice(index + 1).find(({ items }) => items.length > 0);
    const end = isVisible(index) && following !== undefined ? endOf(page.items, following.items, keyOf) : page.items.length;
    joined.push(end === undefined ? page : { ...page, items: page.items.slice(0, end) });
    // There are entries between the two pages. The rest loads as the person scrolls.
    if (end === undefined) break;
  }
  return { pages: joined, pageParams: pageParams.slice(0, joined.length) };
}

/** Where the next page begins in entries that were read beyond it; undefined if they do not reach it. */
function endOf<Item>(items: readonly Item[], following: readonly Item[], keyOf: (item: Item) => string): number | undefined {
  const keys = new Set(following.map(keyOf));
  const index = items.findIndex((item) => keys.has(keyOf(item)));
  return index === -1 ? undefined : index;
}
