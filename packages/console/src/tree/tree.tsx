/** The tree of groups. Groups load when their parent is opened, and only the visible rows are in the page. */
import { useQuery } from "@connectrpc/connect-query";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Group as Row, Stack, Text, Title } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useCallback, useState } from "react";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { hasModifier, useVirtualRows } from "../frame/virtual-rows.ts";
import { CreateGroupButton } from "./create-group.tsx";
import classes from "./tree.module.css";
import { type Tree, type TreeRow, useTree } from "./tree-nodes.ts";

const ROW_HEIGHT = 34;

export function Screen() {
  const organization = useOrganization();
  const { data } = useQuery(GroupsService.method.listGroups, { uidp: { descendantsOf: organization }, pageSize: 1 });
  const tree = useTree(organization);
  return (
    <Stack gap="sm">
      <Row justify="space-between">
        <div>
          <Title order={1} size="h2">
            Groups
          </Title>
          <Text c="dimmed" size="sm" role="status">
            {data?.totalCount === undefined ? "" : `${data.totalCount.toLocaleString("en")} in the organization`}
          </Text>
        </div>
        <CreateGroupButton parent={organization} />
      </Row>
      {tree.error !== undefined && <ErrorAlert error={tree.error} title="Not all groups can be shown" onRetry={tree.retry} />}
      <Rows tree={tree} />
    </Stack>
  );
}

function Rows({ tree }: { readonly tree: Tree }) {
  const { rows } = tree;
  const [focused, setFocused] = useState(0);
  const organization = useOrganization();
  const navigate = useNavigate();
  const keyOf = useCallback((index: number) => rows[index]?.key ?? index, [rows]);
  const count = rows.length;
  const current = Math.min(focused, count - 1);
  const { scroller, focusEvents, virtual, focusRow, rowAfter } = useVirtualRows({ count, rowHeight: ROW_HEIGHT, keyOf, focused: current });

  function focus(index: number): void {
    if (index < 0 || index >= rows.length) return;
    setFocused(index);
    focusRow(index);
  }

  function handleKey(event: KeyboardEvent, index: number): void {
    if (event.target !== event.currentTarget || hasModifier(event)) return;
    const next = rowAfter(event.key, index);
    const action = next === undefined ? actionOf(event.key, tree, index, { focus, open }) : () => focus(next);
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  function open(groupUid: string): void {
    void navigate({ to: screenPath(organization, "/group", groupUid), search: {} });
  }

  return (
    <div ref={scroller} {...focusEvents} className={classes.scroller}>
      <div role="tree" aria-label="Groups" className={classes.rows} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index] as TreeRow;
          return (
            <div
              key={key as string}
              role="treeitem"
              data-index={index}
              aria-level={row.depth}
              aria-expanded={row.kind === "group" ? row.isOpen : undefined}
              aria-selected={index === current}
              tabIndex={index === current ? 0 : -1}
              className={classes.row}
              style={{ transform: `translateY(${start}px)`, paddingLeft: `${row.depth - 0.5}rem` }}
              onKeyDown={(event) => handleKey(event, index)}
              onFocus={() => setFocused(index)}
            >
              <RowContent row={row} tree={tree} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface TreeMoves {
  readonly focus: (index: number) => void;
  /** Opens the screen of the group. */
  readonly open: (groupUid: string) => void;
}

/**
 * The keys of a tree (WAI-ARIA Authoring Practices), without those that every list has.
 * @param index of the row that has the focus
 */
function actionOf(key: string, { rows, toggle, loadMore }: Tree, index: number, { focus, open }: TreeMoves): (() => void) | undefined {
  const row = rows[index];
  if (row === undefined) return undefined;
  const group = row.kind === "group" ? row.group.uid : undefined;
  const isOpen = row.kind === "group" && row.isOpen;
  const parent = () => rows.findLastIndex(({ depth }, each) => each < index && depth < row.depth);
  const actions: Record<string, () => void> = {
    ArrowRight: () => (group !== undefined && !isOpen ? toggle(group) : focus(index + 1)),
    ArrowLeft: () => (group !== undefined && isOpen ? toggle(group) : focus(parent())),
    Enter: () => {
      if (row.kind === "more") loadMore(row);
      if (group !== undefined) open(group);
    },
  };
  return actions[key];
}

function RowContent({ row, tree }: { readonly row: TreeRow; readonly tree: Tree }) {
  if (row.kind === "note") return <Text c="dimmed">{row.text}</Text>;
  if (row.kind === "more")
    return (
      <button type="button" tabIndex={-1} className={classes.more} onClick={() => tree.loadMore(row)}>
        Show more
      </button>
    );
  const { group, isOpen } = row;
  return (
    <>
      <button
        type="button"
        tabIndex={-1}
        className={classes.toggle}
        aria-label={`${isOpen ? "Close" : "Open"} ${group.name}`}
        onClick={() => tree.toggle(group.uid)}
      >
        <span aria-hidden>{isOpen ? "▾" : "▸"}</span>
      </button>
      <ScreenLink to="/group" uid={group.uid} tabIndex={-1}>
        <bdi>{group.name}</bdi>
      </ScreenLink>
      <Text span c="dimmed" size="sm" className={classes.description}>
        <bdi>{group.description}</bdi>
      </Text>
    </>
  );
}
