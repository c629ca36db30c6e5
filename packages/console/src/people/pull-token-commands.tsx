/** Ready-made commands that use a pull token. */
import { type PullToken, PullToken_Right } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Button, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Dialog } from "../frame/dialog.tsx";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { CopyText } from "../object/copy-text.tsx";
import { parentOf } from "../object/parent-of.ts";
import { useNamedPath } from "../tree/named-path.ts";

/** For a token whose password only its machine knows. */
export function CommandsButton({ token }: { readonly token: PullToken }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" size="compact-xs" onClick={open}>
        Commands
      </Button>
      {isOpen && (
        <Dialog onClose={close} title={`Commands with ${token.name}`} size="lg">
          <Stack>
            <Text size="sm">Put the password in the place of PASSWORD. If nobody knows it, make a new one.</Text>
            <PullTokenCommands token={token} password="PASSWORD" />
          </Stack>
        </Dialog>
      )}
    </>
  );
}

export interface PullTokenCommandsProps {
  readonly token: PullToken;
  readonly password: string;
}

export function PullTokenCommands({ token, password }: PullTokenCommandsProps) {
  const { path, error } = useNamedPath(parentOf(token.uid));
  if (error !== null) return <ErrorAlert error={error} title="The commands cannot be shown" />;
  if (path === undefined) return <Loading />;
  return commandsOf({ token, password, path: path.join(":"), host: location.host }).map(({ title, text }) => (
    <div key={title}>
      <Text size="sm">{title}</Text>
      <CopyText isBlock label={`command for ${title}`} text={text} />
    </div>
  ));
}

interface Command {
  readonly title: string;
  readonly text: string;
}

interface CommandsOptions extends PullTokenCommandsProps {
  /** Names of the groups above the token, with colons. */
  readonly path: string;
  readonly host: string;
}

function commandsOf({ token: { userName, rights }, password, path, host }: CommandsOptions): readonly Command[] {
  const has = (...wanted: PullToken_Right[]) => wanted.some((right) => rights.includes(right));
  const login = (program: string) => ({
    title: program,
    text: `echo '${password}' | ${program} login -u '${userName}' --password-stdin ${host}`,
  });
  const images: readonly Command[] = [
    login("docker"),
    login("podman"),
    login("skopeo"),
    {
      title: "Kubernetes",
      text: `kubectl create secret docker-registry holt --docker-server=${host} --docker-username='${userName}' --docker-password='${password}'`,
    },
  ];
  const python = `${location.protocol}//${userName}:${encodeURIComponent(password)}@${host}/libraries/python/${path}/`;
  return [
    ...(has(PullToken_Right.IMAGES_PULL, PullToken_Right.IMAGES_PUSH) ? images : []),
    ...(has(PullToken_Right.PYTHON_PULL, PullToken_Right.PYTHON_PUSH)
      ? [
          { title: "pip", text: `pip install --index-url "${python}simple/" PACKAGE` },
          { title: "uv", text: `uv pip install --default-index "${python}simple/" PACKAGE` },
        ]
      : []),
    ...(has(PullToken_Right.JAVA_PULL, PullToken_Right.JAVA_PUSH)
      ? [
          {
            title: "Maven, in settings.xml",
            text: `<server><id>holt</id><username>${userName}</username><password>${password}</password></server>`,
          },
        ]
      : []),
  ];
}
