/** Commands that pull an image, for the tools that people use. */
import { useQuery } from "@connectrpc/connect-query";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Stack, Text } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { CopyText } from "../object/copy-text.tsx";

export interface PullCommandsProps {
  /** uid of the repository. */
  readonly uid: string;
  /** `:tag` or `@digest`; a placeholder by default. */
  readonly reference?: string;
}

/** The path of a repository in the registry consists of the names of its groups and its own. */
export function PullCommands({ uid, reference = ":TAG" }: PullCommandsProps) {
  const { data: repo, error } = useQuery(ReposService.method.getRepo, { uid });
  const { data } = useQuery(GroupsService.method.listGroups, { uidp: { ancestorsOf: uid }, pageSize: 200 });
  if (error !== null) return <ErrorAlert error={error} title="The commands cannot be shown" />;
  if (data === undefined || repo === undefined) return <Loading />;
  const groups = [...data.groups].sort((a, b) => a.uid.length - b.uid.length).map(({ name }) => name);
  const image = `${location.host}/${[...groups, repo.name].join("/")}${reference}`;
  return (
    <Stack>
      <Text>
        {reference === ":TAG" && (
          <>
            Replace <code>TAG</code>.{" "}
          </>
        )}
        A pull token, or the token of a sign-in, is the password.
      </Text>
      <CopyText isBlock label="docker command" text={`docker pull ${image}`} />
      <CopyText isBlock label="podman command" text={`podman pull ${image}`} />
      <CopyText isBlock label="skopeo command" text={`skopeo copy docker://${image} dir:image`} />
      <CopyText isBlock label="crane command" text={`crane pull ${image} image.tar`} />
      <CopyText isBlock label="container for Kubernetes" text={`containers:\n  - name: app\n    image: ${image}`} />
    </Stack>
  );
}
