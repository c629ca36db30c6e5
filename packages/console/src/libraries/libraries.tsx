/** The libraries of the organization or of one group, by ecosystem. */
import { LibraryArtifactsService } from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import { type Artifact, ArtifactSchema } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { Dialog } from "../frame/dialog.tsx";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { ecosystems, ecosystemView } from "./ecosystem.ts";
import { Setup, type SetupProps } from "./setup.tsx";
import { UploadButton } from "./upload.tsx";

const columns: readonly Column<Artifact>[] = [
  {
    id: "name",
    title: "Name",
    text: ({ name }) => name,
    cell: ({ uid, name }) => (
      <ScreenLink to="/library" uid={uid}>
        <bdi>{name}</bdi>
      </ScreenLink>
    ),
    orderBy: "name",
  },
  { id: "latest", title: "Latest version", text: ({ latestVersion }) => latestVersion },
  { id: "versions", title: "Versions", text: ({ versionCount }) => String(versionCount) },
  { id: "description", title: "Description", text: ({ description }) => description },
  timeColumn({ id: "updated", title: "Published", time: ({ updateTime }) => updateTime, orderBy: "update_time" }),
  { id: "uid", title: "uid", text: ({ uid }) => uid, isHidden: true },
];

export function Screen() {
  const organization = useOrganization();
  const navigate = useNavigate();
  const [{ ecosystem, name = "", group = "", remediated = "" }] = useSearchState();
  const shown = ecosystemView(ecosystem);
  const parent = group === "" ? organization : group;
  return (
    <>
      <ScreenTitle>Libraries</ScreenTitle>
      <List
        title="Libraries"
        method={LibraryArtifactsService.method.listLibraryArtifacts}
        request={{
          ecosystem: shown.value,
          query: name,
          uidp: group === "" ? { descendantsOf: organization } : { childrenOf: group },
          remediated: remediated !== "",
        }}
        itemsOf={({ libraryArtifacts }) => libraryArtifacts}
        schema={ArtifactSchema}
        columns={columns}
        keyOf={({ uid }) => uid}
        onOpen={({ uid }) => void navigate({ to: screenPath(organization, "/library", uid), search: {} })}
        filters={[
          {
            kind: "choice",
            id: "ecosystem",
            title: "Ecosystem",
            placeholder: shown.title,
            choices: ecosystems.map(({ path, title }) => ({ value: path, title })),
          },
          { kind: "text", id: "name", title: "Name", placeholder: "Part of the name" },
          { kind: "group", id: "group", title: "Group" },
          { kind: "choice", id: "remediated", title: "Patches", choices: [{ value: "yes", title: "Has a remediated version" }] },
        ]}
        defaultOrder="name"
        empty={<Text>There are no {shown.title} libraries yet. “Upload” publishes one; “Setup” shows how tools publish and install.</Text>}
        actions={
          <>
            <SetupButton ecosystem={shown} group={parent} />
            <UploadButton ecosystem={shown} parent={parent} />
          </>
        }
      />
    </>
  );
}

function SetupButton(props: SetupProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" size="xs" onClick={open}>
        Setup
      </Button>
      {isOpen && (
        <Dialog onClose={close} size="lg" title={`Setup for ${props.ecosystem.title}`}>
          <Setup {...props} />
        </Dialog>
      )}
    </>
  );
}
