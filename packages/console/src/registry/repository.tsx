/** One image repository: its readme, its tags, how to pull from it, and who has rights at its group. */
import { useQuery } from "@connectrpc/connect-query";
import { type Repo, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { type Tag, TagSchema, TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { screenPath, useObjectUid, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { BindingsTab } from "../object/bindings-tab.tsx";
import { CopyText } from "../object/copy-text.tsx";
import { Details } from "../object/details.tsx";
import { EventsTab } from "../object/events-tab.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { parentOf } from "../object/parent-of.ts";
import { Time } from "../object/time.tsx";
import { useObject } from "../object/use-object.ts";
import { GroupPath } from "../tree/group-path.tsx";
import { DeleteRepositoryButton } from "./delete-repository.tsx";
import { PullCommands } from "./pull-commands.tsx";
import { tierText } from "./repositories.tsx";

export function Screen() {
  const uid = useObjectUid();
  const organization = useOrganization();
  const navigate = useNavigate();
  const { data: repo, error, retry } = useObject(ReposService.method.getRepo, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The repository cannot be shown" onRetry={retry} />;
  if (repo === undefined) return <Loading />;
  const group = parentOf(uid);
  return (
    <ObjectFrame
      kind="Image repository"
      name={repo.name}
      uid={uid}
      method={ReposService.method.getRepo}
      path={<GroupPath uid={uid} />}
      actions={
        <DeleteRepositoryButton repo={repo} onDeleted={() => navigate({ to: screenPath(organization, "/repositories"), search: {} })} />
      }
      tabs={[
        { id: "tags", title: "Tags", content: <Tags uid={uid} /> },
        { id: "readme", title: "Readme", content: <Readme uid={uid} /> },
        { id: "pull", title: "Pull", content: <PullCommands uid={uid} /> },
        { id: "details", title: "Details", content: <RepositoryDetails repo={repo} /> },
        { id: "access", title: "Access", content: <BindingsTab uid={group} /> },
        { id: "events", title: "Events", content: <EventsTab group={group} subject={uid} /> },
      ]}
    />
  );
}

/** Loads when the tab is opened: the parser is a large part of what the screen would load. */
const Markdown = lazy(async () => ({ default: (await import("./markdown.tsx")).Markdown }));

function Readme({ uid }: { readonly uid: string }) {
  const { data, error } = useQuery(ReposService.method.getRepoReadme, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The readme cannot be shown" />;
  if (data === undefined) return <Loading />;
  if (data.content === "") return <Text>This repository has no readme.</Text>;
  return (
    <Suspense fallback={<Loading />}>
      <Markdown text={data.content} />
    </Suspense>
  );
}

function RepositoryDetails({ repo }: { readonly repo: Repo }) {
  return (
    <Details
      rows={[
        ["Description", <bdi key="description">{repo.description}</bdi>],
        ["Tier", tierText(repo.catalogTier)],
        ["Aliases", <bdi key="aliases">{repo.aliases.join(", ")}</bdi>],
        ["Created", <Time key="created" value={repo.createTime} />],
        ["Changed", <Time key="changed" value={repo.updateTime} />],
      ]}
    />
  );
}

const columns: readonly Column<Tag>[] = [
  {
    id: "name",
    title: "Tag",
    text: ({ name }) => name,
    cell: ({ uid, name }) => (
      <ScreenLink to="/tag" uid={uid}>
        <bdi>{name}</bdi>
      </ScreenLink>
    ),
    orderBy: "name",
  },
  {
    id: "digest",
    title: "Digest",
    text: ({ digest }) => digest,
    cell: ({ digest }) => <CopyText label="digest" text={digest} />,
  },
  {
    id: "contents",
    title: "Image",
    text: () => "",
    cell: ({ uid, name, digest }) => (
      <ScreenLink to="/image" uid={`${parentOf(uid)}/${digest}`} aria-label={`Contents of ${name}`}>
        Contents
      </ScreenLink>
    ),
  },
  timeColumn({ id: "updated", title: "Moved", time: ({ updateTime }) => updateTime, orderBy: "update_time" }),
  { id: "deprecated", title: "End of life", text: ({ deprecated }) => (deprecated ? "yes" : ""), isHidden: true },
];

function Tags({ uid }: { readonly uid: string }) {
  const [{ name = "", digest = "", all = "" }] = useSearchState();
  const isAll = all === "all";
  const organization = useOrganization();
  const navigate = useNavigate();
  return (
    <List
      title="Tags"
      method={TagsService.method.listTags}
      request={{ uidp: { childrenOf: uid }, name, digest, includeReferrers: isAll, includeDates: isAll, includeEpochs: isAll }}
      itemsOf={({ tags }) => tags}
      schema={TagSchema}
      columns={columns}
      keyOf={(tag) => tag.uid}
      onOpen={(tag) => void navigate({ to: screenPath(organization, "/tag", tag.uid), search: {} })}
      filters={[
        { kind: "text", id: "name", title: "Tag", placeholder: "The whole name" },
        { kind: "text", id: "digest", title: "Digest", placeholder: "sha256:…" },
        {
          kind: "choice",
          id: "all",
          title: "Dates, epochs and referrers",
          placeholder: "Hidden",
          choices: [{ value: "all", title: "Show these as well" }],
        },
      ]}
      defaultOrder="update_time desc"
      empty={<Text>There are no tags in here. “Pull” shows the address to push to.</Text>}
    />
  );
}
