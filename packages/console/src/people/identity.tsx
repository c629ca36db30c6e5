/** One identity: how it proves itself, which roles it has, and when it was last seen. */
import { IdentitiesService, type Identity } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { useNavigate } from "@tanstack/react-router";
import { IdentityBindings } from "../access/binding-lists.tsx";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { screenPath, useObjectUid, useOrganization } from "../frame/organization.ts";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { Details } from "../object/details.tsx";
import { EventsTab } from "../object/events-tab.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { parentOf } from "../object/parent-of.ts";
import { Time } from "../object/time.tsx";
import { useDelete } from "../object/use-delete.ts";
import { useObject } from "../object/use-object.ts";
import { GroupPath } from "../tree/group-path.tsx";
import { EditIdentityButton } from "./edit-identity.tsx";
import { proofRows } from "./proof.ts";

export function Screen() {
  const uid = useObjectUid();
  const { data: identity, error, retry } = useObject(IdentitiesService.method.getIdentity, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The identity cannot be shown" onRetry={retry} />;
  if (identity === undefined) return <Loading />;
  return (
    <ObjectFrame
      kind="Identity"
      name={identity.name}
      uid={uid}
      method={IdentitiesService.method.getIdentity}
      path={<GroupPath uid={uid} />}
      actions={
        <>
          <EditIdentityButton identity={identity} />
          <DeleteIdentityButton identity={identity} />
        </>
      }
      tabs={[
        { id: "details", title: "Details", content: <IdentityDetails identity={identity} /> },
        { id: "roles", title: "Roles", content: <IdentityBindings uid={uid} /> },
        { id: "events", title: "Events", content: <EventsTab group={parentOf(uid)} subject={uid} /> },
      ]}
    />
  );
}

function DeleteIdentityButton({ identity: { uid, name } }: { readonly identity: Identity }) {
  const organization = useOrganization();
  const navigate = useNavigate();
  const remove = useDelete(IdentitiesService.method.deleteIdentity);
  return (
    <ConfirmButton
      label="Delete"
      question={`Delete ${name}?`}
      method={IdentitiesService.method.deleteIdentity}
      uid={uid}
      run={() => remove({ uid }, () => navigate({ to: screenPath(organization, "/identities"), search: {} }))}
    >
      Its role bindings go with it, and its tokens stop working at once. This cannot be undone.
    </ConfirmButton>
  );
}

function IdentityDetails({ identity }: { readonly identity: Identity }) {
  return (
    <Details
      rows={[
        ["Description", <bdi key="description">{identity.description}</bdi>],
        ...proofRows(identity.relationship).map(([title, value]) => [title, <bdi key={title}>{value}</bdi>] as const),
        ["Last seen", <Time key="seen" value={identity.lastSeenTime} />],
        ["Created", <Time key="created" value={identity.createTime} />],
        ["Changed", <Time key="changed" value={identity.updateTime} />],
      ]}
    />
  );
}
