/** One tag: the digests that it has had, and what has happened to it. */
import { type Tag, TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { Text, Timeline } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { screenPath, useObjectUid, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { BindingsTab } from "../object/bindings-tab.tsx";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { Details } from "../object/details.tsx";
import { EventsTab } from "../object/events-tab.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { parentOf } from "../object/parent-of.ts";
import { Time, timeText } from "../object/time.tsx";
import { useDelete } from "../object/use-delete.ts";
import { useObject } from "../object/use-object.ts";
import { DeletionPreview } from "./deletion-preview.tsx";
import { PullCommands } from "./pull-commands.tsx";
import { RepositoryPath } from "./repository-path.tsx";
import { useTagHistory } from "./use-tag-history.ts";

export function Screen() {
  const uid = useObjectUid();
  const organization = useOrganization();
  const navigate = useNavigate();
  const remove = useDelete(TagsService.method.deleteTag);
  const { data: tag, error, retry } = useObject(TagsService.method.getTag, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The tag cannot be shown" onRetry={retry} />;
  if (tag === undefined) return <Loading />;
  const repository = parentOf(uid);
  const group = parentOf(repository);
  return (
    <ObjectFrame
      kind="Tag"
      name={tag.name}
      uid={uid}
      method={TagsService.method.getTag}
      path={<RepositoryPath uid={repository} />}
      actions={
        <ConfirmButton
          label="Delete"
          question={`Delete the tag ${tag.name}?`}
          method={TagsService.method.deleteTag}
          uid={uid}
          run={() => remove({ uid }, () => navigate({ to: screenPath(organization, "/repository", repository), search: {} }))}
        >
          <DeletionPreview uid={repository} tag={tag.name} />
        </ConfirmButton>
      }
      tabs={[
        { id: "history", title: "History", content: <History uid={uid} repository={repository} /> },
        { id: "details", title: "Details", content: <TagDetails tag={tag} /> },
        { id: "pull", title: "Pull", content: <PullCommands uid={repository} reference={`:${tag.name}`} /> },
        { id: "access", title: "Access", content: <BindingsTab uid={group} /> },
        { id: "events", title: "Events", content: <EventsTab group={group} subject={uid} /> },
      ]}
    />
  );
}

/** More would slow the screen down. */
const MAX_SHOWN = 1000;

function History({ uid, repository }: { readonly uid: string; readonly repository: string }) {
  const { data, error } = useTagHistory(uid);
  if (error !== null) return <ErrorAlert error={error} title="The history cannot be shown" />;
  if (data === undefined) return <Loading />;
  if (data.length === 0) return <Text>The tag has no history.</Text>;
  return (
    <Timeline>
      {data.slice(0, MAX_SHOWN).map(({ digest, updateTimestamp }, index) => (
        <Timeline.Item key={`${timeText(updateTimestamp)} ${digest}`} title={<Time value={updateTimestamp} />}>
          <ScreenLink to="/image" uid={`${repository}/${digest}`} style={{ overflowWrap: "anywhere" }}>
            {digest}
          </ScreenLink>
          <Before uid={repository} digest={digest} before={data[index + 1]?.digest} />
        </Timeline.Item>
      ))}
    </Timeline>
  );
}

/** Leads to the difference to the digest that the tag had before. */
function Before({ uid, digest, before }: { readonly uid: string; readonly digest: string; readonly before: string | undefined }) {
  if (before === undefined || before === digest) return null;
  return (
    <div>
      <ScreenLink to="/image" uid={`${uid}/${digest}`} search={{ tab: "compare", with: before }} size="sm">
        What changed
      </ScreenLink>
    </div>
  );
}

function TagDetails({ tag }: { readonly tag: Tag }) {
  return (
    <Details
      rows={[
        ["Digest", tag.digest],
        ["Moved", <Time key="moved" value={tag.updateTime} />],
        ["End of life", tag.deprecated ? "Yes" : "No"],
        ["Bundles", <bdi key="bundles">{tag.bundles.join(", ")}</bdi>],
      ]}
    />
  );
}
