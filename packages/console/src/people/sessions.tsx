/** Where the person is signed in, or the people of the organization. */
import { useMutation } from "@connectrpc/connect-query";
import { type Session, Session_KindSchema, SessionSchema, SessionsService } from "@holt/api/gen/holt/v1/sessions_pb.ts";
import { Text } from "@mantine/core";
import { useOrganization } from "../frame/organization.ts";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { enumText } from "../object/enum-text.ts";
import { Time } from "../object/time.tsx";

const columns: readonly Column<Session>[] = [
  { id: "kind", title: "Kind", text: ({ kind }) => enumText(Session_KindSchema, kind) },
  { id: "agent", title: "Program", text: ({ client, userAgent }) => client || userAgent },
  { id: "address", title: "Address", text: ({ remoteAddress }) => remoteAddress },
  timeColumn({ id: "used", title: "Last use", time: ({ lastUseTime }) => lastUseTime }),
  timeColumn({ id: "created", title: "Since", time: ({ createTime }) => createTime }),
  timeColumn({ id: "expires", title: "Expires", time: ({ expireTime }) => expireTime, isHidden: true }),
  { id: "person", title: "uid of the person", text: ({ identityUid }) => identityUid, isHidden: true },
  { id: "issuer", title: "Issuer", text: ({ issuer }) => issuer, isHidden: true },
  { id: "methods", title: "Methods", text: ({ methods }) => methods.join(", "), isHidden: true },
  {
    id: "end",
    title: "End",
    text: ({ current }) => (current ? "this session" : ""),
    cell: (session) => (session.current ? "this session" : <EndSessionButton session={session} />),
  },
];

export function Screen() {
  const uid = useOrganization();
  const [{ whose = "", person = "" }] = useSearchState();
  const organization = whose === "" ? "" : uid;
  return (
    <>
      <ScreenTitle>Sessions</ScreenTitle>
      <List
        title="Sessions"
        method={SessionsService.method.listSessions}
        request={{ organization, identityUid: whose === "" ? "" : person }}
        itemsOf={({ sessions }) => sessions}
        schema={SessionSchema}
        columns={columns}
        keyOf={(session) => session.uid}
        filters={[
          {
            kind: "choice",
            id: "whose",
            title: "Whose",
            placeholder: "Yours",
            choices: [{ value: "all", title: "Everybody's in the organization" }],
          },
          ...(whose === "" ? [] : [{ kind: "identity", id: "person", title: "Person" } as const]),
        ]}
        empty={<Text>Nobody is signed in.</Text>}
      />
    </>
  );
}

function EndSessionButton({ session }: { readonly session: Session }) {
  const { uid, organization, kind, client, userAgent, remoteAddress, createTime } = session;
  const end = useMutation(SessionsService.method.endSession);
  return (
    <ConfirmButton
      label="End"
      question="End the session?"
      method={SessionsService.method.endSession}
      uid={organization}
      isOwn={organization === ""}
      isCompact
      run={async () => void (await end.mutateAsync({ uid, organization }))}
    >
      <Text>
        {enumText(Session_KindSchema, kind)}, <bdi>{client || userAgent}</bdi> at {remoteAddress}, since <Time value={createTime} />
      </Text>
      <Text mt="xs">Its tokens are refused from the next request on. The person can sign in again.</Text>
    </ConfirmButton>
  );
}
