/** The password of a new pull token, and the commands that use it. */
import { useQuery } from "@connectrpc/connect-query";
import { type PullToken, PullToken_Right } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Text } from "@mantine/core";
import { CopyText } from "../object/copy-text.tsx";
import { SecretDialog } from "../object/secret-dialog.tsx";

export function PullTokenSecret({ token, onClose }: { readonly token: PullToken; readonly onClose: () => void }) {
  const { userName, password, rights, uid } = token;
  const { data } = useQuery(GroupsService.method.listGroups, { uidp: { ancestorsOf: uid }, pageSize: 200 });
  const groups = [...(data?.groups ?? [])].sort((a, b) => a.uid.length - b.uid.length);
  const path = groups.map(({ name }) => name).join("/");
  const has = (...wanted: PullToken_Right[]) => wanted.some((right) => rights.includes(right));
  return (
    <SecretDialog title={`Pull token ${token.name}`} onClose={onClose}>
      <CopyText label="user name" text={userName} />
      <CopyText label="password" text={password} />
      {has(PullToken_Right.IMAGES_PULL, PullToken_Right.IMAGES_PUSH) && (
        <>
          <Command title="docker" text={`echo '${password}' | docker login -u '${userName}' --password-stdin ${location.host}`} />
          <Command
            title="Kubernetes"
            text={`kubectl create secret docker-registry holt --docker-server=${location.host} --docker-username='${userName}' --docker-password='${password}'`}
          />
        </>
      )}
      {has(PullToken_Right.PYTHON_PULL, PullToken_Right.PYTHON_PUSH) && (
        <Command title="pip" text={`pip install --index-url "${libraryUrl("python", path, token)}simple/" PACKAGE`} />
      )}
      {has(PullToken_Right.JAVA_PULL, PullToken_Right.JAVA_PUSH) && (
        <Command
          title="Maven, in settings.xml"
          text={`<server><id>holt</id><username>${userName}</username><password>${password}</password></server>`}
        />
      )}
    </SecretDialog>
  );
}

function Command({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <div>
      <Text size="sm">{title}</Text>
      <CopyText isBlock label={`command for ${title}`} text={text} />
    </div>
  );
}

function libraryUrl(ecosystem: string, path: string, { userName, password }: PullToken): string {
  return `${location.protocol}//${userName}:${encodeURIComponent(password)}@${location.host}/libraries/${ecosystem}/${path}/`;
}
