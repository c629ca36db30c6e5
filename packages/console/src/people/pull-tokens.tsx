/** The pull tokens of the organization that the person may see: those of its groups, and the person's own. */
import { type PullToken, PullToken_RightSchema, PullTokenSchema, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Text } from "@mantine/core";
import { useState } from "react";
import { useOrganization } from "../frame/organization.ts";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { enumText } from "../object/enum-text.ts";
import { useDelete } from "../object/use-delete.ts";
import { useRights } from "../session/rights.ts";
import { CreatePullTokenButton } from "./create-pull-token.tsx";
import { CommandsButton } from "./pull-token-commands.tsx";
import { PullTokenSecret } from "./pull-token-secret.tsx";
import { RotatePullTokenButton } from "./rotate-pull-token.tsx";

const columns: readonly Column<PullToken>[] = [
  { id: "name", title: "Name", text: ({ name }) => name, orderBy: "name" },
  {
    id: "rights",
    title: "Rights",
    text: ({ rights }) => rights.map((right) => enumText(PullToken_RightSchema, right)).join(", "),
  },
  timeColumn({ id: "expires", title: "Expires", time: ({ expireTime }) => expireTime, orderBy: "expire_time" }),
  timeColumn({ id: "used", title: "Last use", time: ({ lastUseTime }) => lastUseTime }),
  { id: "address", title: "Address of the last use", text: ({ lastUseAddress }) => lastUseAddress, isHidden: true },
  { id: "repositories", title: "Repositories", text: ({ repositories }) => repositories.join(", "), isHidden: true },
  { id: "creator", title: "uid of the creator", text: ({ creator }) => creator, isHidden: true },
  { id: "uid", title: "uid", text: ({ uid }) => uid, isHidden: true },
  { id: "commands", title: "Use", text: () => "", cell: (token) => <CommandsButton token={token} /> },
];
const revokeColumn: Column<PullToken> = {
  id: "revoke",
  title: "Revocation",
  text: () => "",
  cell: (token) => <RevokeButton token={token} />,
};

export function Screen() {
  const organization = useOrganization();
  const [{ group = "", name = "" }] = useSearchState();
  const [rotated, setRotated] = useState<PullToken>();
  const rotateColumn: Column<PullToken> = {
    id: "rotate",
    title: "Rotation",
    text: () => "",
    cell: (token) => <RotatePullTokenButton token={token} onRotated={setRotated} />,
  };
  const uidp = group === "" ? { descendantsOf: organization } : { childrenOf: group };
  return (
    <>
      <ScreenTitle>Pull tokens</ScreenTitle>
      <List
        title="Pull tokens"
        method={PullTokensService.method.listPullTokens}
        request={{ uidp, name }}
        itemsOf={({ pullTokens }) => pullTokens}
        schema={PullTokenSchema}
        columns={[...columns, rotateColumn, revokeColumn]}
        keyOf={({ uid }) => uid}
        filters={[
          { kind: "text", id: "name", title: "Name", placeholder: "The whole name" },
          { kind: "group", id: "group", title: "Group" },
        ]}
        defaultOrder="name"
        empty={<Text>There are no pull tokens yet. “New pull token” makes a user name and a password for a machine.</Text>}
        actions={<CreatePullTokenButton parent={organization} />}
      />
      {rotated !== undefined && <PullTokenSecret token={rotated} onClose={() => setRotated(undefined)} />}
    </>
  );
}

function RevokeButton({ token: { uid, name, creator, independent } }: { readonly token: PullToken }) {
  const remove = useDelete(PullTokensService.method.deletePullToken);
  const person = useRights().uid;
  return (
    <ConfirmButton
      label="Revoke"
      question={`Revoke ${name}?`}
      method={PullTokensService.method.deletePullToken}
      uid={uid}
      isOwn={creator === person && !independent}
      isCompact
      run={() => remove({ uid }, async () => {})}
    >
      Machines that use it are refused from their next request on. This cannot be undone.
    </ConfirmButton>
  );
}
