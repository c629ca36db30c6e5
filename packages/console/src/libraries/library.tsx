/** One library: its versions, its files, how to install it, and what has happened to it. */
import { LibraryArtifactsService } from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import type { Artifact } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { useObjectUid } from "../frame/organization.ts";
import { BindingsTab } from "../object/bindings-tab.tsx";
import { Details } from "../object/details.tsx";
import { EventsTab } from "../object/events-tab.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { parentOf } from "../object/parent-of.ts";
import { Time } from "../object/time.tsx";
import { useObject } from "../object/use-object.ts";
import { GroupPath } from "../tree/group-path.tsx";
import { ecosystemView } from "./ecosystem.ts";
import { LibraryFiles } from "./library-files.tsx";
import { LibraryVersions } from "./library-versions.tsx";
import { Setup } from "./setup.tsx";
import { UploadButton } from "./upload.tsx";

export function Screen() {
  const uid = useObjectUid();
  const { data: library, error, retry } = useObject(LibraryArtifactsService.method.getLibraryArtifact, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The library cannot be shown" onRetry={retry} />;
  if (library === undefined) return <Loading />;
  const group = parentOf(uid);
  const ecosystem = ecosystemView(library.ecosystem);
  const { name, latestVersion: version } = library;
  return (
    <ObjectFrame
      kind={`${ecosystem.title} library`}
      name={name}
      uid={uid}
      method={LibraryArtifactsService.method.getLibraryArtifact}
      path={<GroupPath uid={uid} />}
      actions={<UploadButton ecosystem={ecosystem} parent={group} />}
      tabs={[
        { id: "versions", title: "Versions", content: <LibraryVersions library={library} /> },
        { id: "files", title: "Files", content: <LibraryFiles library={library} /> },
        { id: "setup", title: "Setup", content: <Setup ecosystem={ecosystem} group={group} name={name} version={version} /> },
        { id: "details", title: "Details", content: <LibraryDetails library={library} /> },
        { id: "access", title: "Access", content: <BindingsTab uid={group} /> },
        { id: "events", title: "Events", content: <EventsTab group={group} subject={uid} /> },
      ]}
    />
  );
}

function LibraryDetails({ library }: { readonly library: Artifact }) {
  return (
    <Details
      rows={[
        ["Description", <bdi key="description">{library.description}</bdi>],
        ["Latest version", <bdi key="latest">{library.latestVersion}</bdi>],
        ["Versions", String(library.versionCount)],
        ["First published", <Time key="created" value={library.createTime} />],
        ["Last published", <Time key="updated" value={library.updateTime} />],
      ]}
    />
  );
}
