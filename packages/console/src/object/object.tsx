/**
 * The frame of a screen that shows one object: name, uid, actions and tabs. The last tabs say who has rights at its group,
 * and how to call the API. The chosen tab is part of the address. A change of the tab resets the filters.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { Group, Stack, Tabs, Text, Title } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useObjectName } from "../frame/document-title.tsx";
import { useSearchState } from "../frame/search.ts";
import { BindingsTab } from "./bindings-tab.tsx";
import { CallTab } from "./call-tab.tsx";
import { CopyText } from "./copy-text.tsx";
import { parentOf } from "./parent-of.ts";

export interface ObjectTab {
  /** Part of the address. */
  readonly id: string;
  readonly title: string;
  readonly content: ReactNode;
}

export interface ObjectFrameProps {
  /** "Group", "Repository". */
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** The digest of an image, which has no uid: `uid` is then its repository's. */
  readonly digest?: string;
  /** The operation that reads the object. */
  readonly method: DescMethod;
  /** Links to the groups above. */
  readonly path?: ReactNode;
  readonly actions?: ReactNode;
  readonly tabs: readonly ObjectTab[];
}

export function ObjectFrame({ kind, name, uid, digest, method, path, actions, tabs }: ObjectFrameProps) {
  const [search] = useSearchState();
  const navigate = useNavigate();
  const group = parentOf(uid);
  useObjectName(name);
  // An object that belongs to no group has no bindings.
  const hasAccess = group === "" || tabs.some(({ id }) => id === "access");
  const all: readonly ObjectTab[] = [
    ...tabs,
    ...(hasAccess ? [] : [{ id: "access", title: "Access", content: <BindingsTab uid={group} /> }]),
    { id: "call", title: "Call", content: <CallTab method={method} uid={uid} digest={digest} /> },
  ];
  const chosen = all.find(({ id }) => id === search.tab) ?? all[0];
  return (
    <Stack>
      {path}
      <Group justify="space-between" align="flex-start">
        <div style={{ minWidth: 0 }}>
          <Text size="sm" c="dimmed">
            {kind}
          </Text>
          <Title order={1} size="h2">
            <bdi>{name}</bdi>
          </Title>
          {digest === undefined ? <CopyText label="uid" text={uid} /> : <CopyText label="digest" text={digest} />}
        </div>
        <Group gap="xs">{actions}</Group>
      </Group>
      <Tabs
        value={chosen?.id ?? null}
        onChange={(tab) => void navigate({ to: ".", search: tab === null || tab === all[0]?.id ? {} : { tab }, replace: true })}
        keepMounted={false}
      >
        <Tabs.List>
          {all.map(({ id, title }) => (
            <Tabs.Tab key={id} value={id}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {all.map(({ id, content }) => (
          <Tabs.Panel key={id} value={id} pt="md">
            {content}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  );
}
