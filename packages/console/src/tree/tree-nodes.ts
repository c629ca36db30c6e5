/** The groups of an organization as rows: each open group with the pages of its children that are loaded. */
import type { Transport } from "@connectrpc/connect";
import { createQueryOptions, useTransport } from "@connectrpc/connect-query";
import { type Group, GroupsService, type ListGroupsResponse } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { type QueryClient, useQueries, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { MAX_PAGE_SIZE } from "../list/list-method.ts";

export type TreeRow =
  | { readonly kind: "group"; readonly key: string; readonly depth: number; readonly group: Group; readonly isOpen: boolean }
  /** Leads to the next page of the group's children. */
  | { readonly kind: "more"; readonly key: string; readonly depth: number; readonly parent: string; readonly pageToken: string }
  | { readonly kind: "note"; readonly key: string; readonly depth: number; readonly text: string };

export interface Tree {
  readonly rows: readonly TreeRow[];
  /** Opens a closed group, and closes an open one. */
  toggle(uid: string): void;
  loadMore(row: Extract<TreeRow, { kind: "more" }>): void;
  /** Error of a request. */
  readonly error: Error | undefined;
  /** Repeats the requests that failed. */
  retry(): void;
}

/** Page tokens by the uid of an open group; the first page has an empty one. */
type OpenGroups = ReadonlyMap<string, readonly string[]>;

/** By the uid of the root, until the page is loaded again: a person who returns from a group finds the tree as it was. */
const openBefore = new Map<string, OpenGroups>();

export function useTree(root: string): Tree {
  const transport = useTransport();
  const [open, setOpen] = useState<OpenGroups>(() => openBefore.get(root) ?? new Map([[root, [""]]]));
  useEffect(() => void openBefore.set(root, open), [root, open]);
  const wanted = [...open].flatMap(([parent, tokens]) => tokens.map((pageToken) => ({ parent, pageToken })));
  const answers = useQueries({ queries: wanted.map((page) => pageQuery(page, transport)) });
  const pages = new Map(wanted.map(({ parent, pageToken }, index) => [pageKey(parent, pageToken), answers[index]?.data]));
  useRejoinedPages(open, pages, setOpen);
  const failed = answers.filter(({ error }) => error !== null);
  return {
    rows: [...rowsBelow(root, 1, open, pages)],
    toggle: (uid) => setOpen((before) => (before.has(uid) ? without(before, uid) : new Map(before).set(uid, [""]))),
    loadMore: ({ parent, pageToken }) =>
      setOpen((before) => new Map(before).set(parent, [...new Set([...(before.get(parent) ?? []), pageToken])])),
    error: failed[0]?.error ?? undefined,
    retry: () => {
      for (const answer of failed) void answer.refetch();
    },
  };
}

type Pages = ReadonlyMap<string, ListGroupsResponse | undefined>;

/** A page that does not begin where the one before it ends now, since groups were added or removed. */
interface Break {
  readonly parent: string;
  /** Token of the page before. */
  readonly before: string;
  readonly pageToken: string;
  /** Token that takes its place; empty if the page before is the last one now. */
  readonly wanted: string;
}

/** Replaces pages that no longer follow the ones before them. The earlier pages are shown until the new ones are there. */
function useRejoinedPages(open: OpenGroups, pages: Pages, setOpen: (change: (before: OpenGroups) => OpenGroups) => void): void {
  const transport = useTransport();
  const queryClient = useQueryClient();
  useEffect(() => {
    for (const each of breaksOf(open, pages))
      readPage(each, transport, queryClient).then(
        () => setOpen((before) => rejoined(before, each)),
        // The page is read again with the next change of the tree.
        () => undefined,
      );
  });
}

async function readPage({ parent, wanted }: Break, transport: Transport, queryClient: QueryClient): Promise<void> {
  if (wanted !== "") await queryClient.fetchQuery(pageQuery({ parent, pageToken: wanted }, transport));
}

function* breaksOf(open: OpenGroups, pages: Pages): Generator<Break> {
  for (const [parent, tokens] of open) {
    const index = tokens.findIndex((token, each) => {
      const next = pages.get(pageKey(parent, token))?.nextPageToken;
      return each < tokens.length - 1 && next !== undefined && next !== tokens[each + 1];
    });
    const [before, pageToken] = tokens.slice(index, index + 2);
    if (index === -1 || before === undefined || pageToken === undefined) continue;
    yield { parent, before, pageToken, wanted: pages.get(pageKey(parent, before))?.nextPageToken ?? "" };
  }
}

function rejoined(open: OpenGroups, { parent, before, pageToken, wanted }: Break): OpenGroups {
  const tokens = open.get(parent) ?? [];
  const index = tokens.indexOf(before);
  if (index === -1 || tokens[index + 1] !== pageToken) return open;
  const rest = wanted === "" ? [] : [wanted, ...tokens.slice(index + 2).filter((token) => token !== wanted)];
  return new Map(open).set(parent, [...tokens.slice(0, index + 1), ...rest]);
}

function pageQuery({ parent, pageToken }: { readonly parent: string; readonly pageToken: string }, transport: Transport) {
  const request = { uidp: { childrenOf: parent }, pageSize: MAX_PAGE_SIZE, orderBy: "name", pageToken };
  return createQueryOptions(GroupsService.method.listGroups, request, { transport });
}

function pageKey(parent: string, pageToken: string): string {
  return `${parent} ${pageToken}`;
}

function without(open: OpenGroups, uid: string): OpenGroups {
  const rest = new Map(open);
  rest.delete(uid);
  return rest;
}

function* rowsBelow(parent: string, depth: number, open: OpenGroups, pages: Pages): Generator<TreeRow> {
  const tokens = open.get(parent) ?? [];
  const loaded = tokens.map((token) => pages.get(pageKey(parent, token)));
  // A group that has moved between two pages appears once.
  const groups = new Map(loaded.flatMap((page) => page?.groups ?? []).map((group) => [group.uid, group]));
  for (const group of groups.values()) {
    const isOpen = open.has(group.uid);
    yield { kind: "group", key: group.uid, depth, group, isOpen };
    if (isOpen) yield* rowsBelow(group.uid, depth + 1, open, pages);
  }
  const last = loaded.at(-1);
  if (last === undefined) yield { kind: "note", key: `${parent} loading`, depth, text: "Loading…" };
  else if (last.nextPageToken !== "") yield { kind: "more", key: `${parent} more`, depth, parent, pageToken: last.nextPageToken };
  else if (loaded[0]?.groups.length === 0) yield { kind: "note", key: `${parent} empty`, depth, text: "No groups in here" };
}
