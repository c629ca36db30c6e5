/** One image of a repository, by its digest: its packages, its vulnerabilities, and the artifacts that are attached to it. */
import { ImagePackagesService } from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { useObjectUid } from "../frame/organization.ts";
import { ObjectFrame } from "../object/object.tsx";
import { Compare } from "./compare.tsx";
import { ImagePackages } from "./image-packages.tsx";
import { ImageReferrers } from "./image-referrers.tsx";
import { ImageVulnerabilities } from "./image-vulnerabilities.tsx";
import { PullCommands } from "./pull-commands.tsx";
import { RepositoryPath } from "./repository-path.tsx";

/** The address ends with the uid of the repository and the digest. */
export function Screen() {
  const parts = useObjectUid().split("/");
  const digest = parts.at(-1) ?? "";
  const uid = parts.slice(0, -1).join("/");
  return (
    <ObjectFrame
      kind="Image"
      name={digest.slice(0, SHORT_DIGEST)}
      uid={uid}
      digest={digest}
      method={ImagePackagesService.method.listImagePackages}
      path={<RepositoryPath uid={uid} />}
      tabs={[
        { id: "packages", title: "Packages", content: <ImagePackages uid={uid} digest={digest} /> },
        { id: "vulnerabilities", title: "Vulnerabilities", content: <ImageVulnerabilities uid={uid} digest={digest} /> },
        { id: "compare", title: "Difference", content: <Compare uid={uid} digest={digest} /> },
        { id: "pull", title: "Pull", content: <PullCommands uid={uid} reference={`@${digest}`} /> },
        { id: "referrers", title: "Signatures and SBOMs", content: <ImageReferrers uid={uid} digest={digest} /> },
      ]}
    />
  );
}

/** Characters of a digest that tell it from others at a glance. */
const SHORT_DIGEST = 19;
