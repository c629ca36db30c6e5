/** The groups of an organization as rows: each open group with the pages of its children that are loaded. */
import type { Transport } from "@connectrpc/connect";
import { createQueryOptions, useTransport } from "@connectrpc/connect-query";
import { type Group, GroupsService, type ListGroupsResponse } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { useQueries } from "@tanstack/react-query";
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

function* rowsBelow(
  parent: string,
  depth: number,
  open: OpenGroups,
  pages: ReadonlyMap<string, ListGroupsResponse | undefined>,
): Generator<TreeRow> {
  const tokens = open.get(parent) ?? [];
  const loaded = tokens.map((token) => pages.get(pageKey(parent, token)));
  for (const group of loaded.flatMap((page) => page?.groups ?? [])) {
    const isOpen = open.has(group.uid);
    yield { kind: "group", key: group.uid, depth, group, isOpen };
    if (isOpen) yield* rowsBelow(group.uid, depth + 1, open, pages);
  }
  const last = loaded.at(-1);
  if (last === undefined) yield { kind: "note", key: `${parent} loading`, depth, text: "Loading…" };
  else if (last.nextPageToken !== "") yield { kind: "more", key: `${parent} more`, depth, parent, pageToken: last.nextPageToken };
  else if (loaded[0]?.groups.length === 0) yield { kind: "note", key: `${parent} empty`, depth, text: "No groups in here" };
}
