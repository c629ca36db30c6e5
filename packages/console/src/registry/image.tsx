/** One image of a repository, by its digest: its packages, its vulnerabilities, and the artifacts that are attached to it. */
import { ImageContentsService } from "@holt/api/gen/holt/v1/image_contents_pb.ts";
import { ImagePackagesService } from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { useNavigate } from "@tanstack/react-router";
import { MissingPage } from "../frame/error-page.tsx";
import { screenPath, useObjectUid, useOrganization } from "../frame/organization.ts";
import { BindingsTab } from "../object/bindings-tab.tsx";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { EventsTab } from "../object/events-tab.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { parentOf } from "../object/parent-of.ts";
import { useDelete } from "../object/use-delete.ts";
import { Compare } from "./compare.tsx";
import { DeletionPreview } from "./deletion-preview.tsx";
import { ImageContents } from "./image-contents.tsx";
import { ImagePackages } from "./image-packages.tsx";
import { ImageReferrers } from "./image-referrers.tsx";
import { ImageVulnerabilities } from "./image-vulnerabilities.tsx";
import { PullCommands } from "./pull-commands.tsx";
import { RepositoryPath } from "./repository-path.tsx";

/** The address ends with the uid of the repository and the digest. */
export function Screen() {
  const path = useObjectUid();
  const uid = parentOf(path);
  const digest = path.slice(uid.length + 1);
  const group = parentOf(uid);
  const organization = useOrganization();
  const navigate = useNavigate();
  const remove = useDelete(ImageContentsService.method.deleteImage);
  if (uid === "") return <MissingPage title="There is no such image" />;
  return (
    <ObjectFrame
      kind="Image"
      name={digest.slice(0, SHORT_DIGEST)}
      uid={uid}
      digest={digest}
      method={ImagePackagesService.method.listImagePackages}
      path={<RepositoryPath uid={uid} />}
      actions={
        <ConfirmButton
          label="Delete"
          question={`Delete the image ${digest.slice(0, SHORT_DIGEST)}?`}
          method={ImageContentsService.method.deleteImage}
          uid={uid}
          run={() => remove({ uid, digest }, () => navigate({ to: screenPath(organization, "/repository", uid), search: {} }))}
        >
          <DeletionPreview uid={uid} digest={digest} />
        </ConfirmButton>
      }
      tabs={[
        { id: "packages", title: "Packages", content: <ImagePackages uid={uid} digest={digest} /> },
        { id: "vulnerabilities", title: "Vulnerabilities", content: <ImageVulnerabilities uid={uid} digest={digest} /> },
        { id: "layers", title: "Layers", content: <ImageContents uid={uid} digest={digest} /> },
        { id: "compare", title: "Difference", content: <Compare uid={uid} digest={digest} /> },
        { id: "pull", title: "Pull", content: <PullCommands uid={uid} reference={`@${digest}`} /> },
        { id: "referrers", title: "Signatures and SBOMs", content: <ImageReferrers uid={uid} digest={digest} /> },
        { id: "access", title: "Access", content: <BindingsTab uid={group} /> },
        { id: "events", title: "Events", content: <EventsTab group={group} subject={uid} /> },
      ]}
    />
  );
}

/** Characters of a digest that tell it from others at a glance. */
const SHORT_DIGEST = 19;
