/** Commands that pull an image, for the tools that people use. */
import { useQuery } from "@connectrpc/connect-query";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Stack, Text } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { CopyText } from "../object/copy-text.tsx";
import { parentOf } from "../object/parent-of.ts";
import { registryName, useNamedPath } from "../tree/named-path.ts";

export interface PullCommandsProps {
  /** uid of the repository. */
  readonly uid: string;
  /** `:tag` or `@digest`; a placeholder by default. */
  readonly reference?: string;
}

/** The path of a repository in the registry consists of the names of its groups and its own. */
export function PullCommands({ uid, reference = ":TAG" }: PullCommandsProps) {
  const repo = useQuery(ReposService.method.getRepo, { uid });
  const { path, error } = useNamedPath(parentOf(uid));
  const problem = repo.error ?? error;
  if (problem !== null) return <ErrorAlert error={problem} title="The commands cannot be shown" />;
  if (path === undefined || repo.data === undefined) return <Loading />;
  const name = registryName(repo.data.name, uid.split("/").at(-1) ?? "");
  const image = `${location.host}/${[...path, name].join("/")}${reference}`;
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
