/** One identity provider: its configuration, the roles of its groups, and what the directory provisions. */
import {
  type IdentityProvider,
  IdentityProvider_OIDC_CorrelationRuleSchema,
  IdentityProvidersService,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { useNavigate } from "@tanstack/react-router";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { screenPath, useObjectUid, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { Details } from "../object/details.tsx";
import { enumText } from "../object/enum-text.ts";
import { EventsTab } from "../object/events-tab.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { Time } from "../object/time.tsx";
import { useDelete } from "../object/use-delete.ts";
import { useObject } from "../object/use-object.ts";
import { EditProviderButton } from "./edit-identity-provider.tsx";
import { GroupMappings } from "./group-mappings.tsx";
import { Scim } from "./scim.tsx";

export function Screen() {
  const uid = useObjectUid();
  const organization = useOrganization();
  const { data: provider, error, retry } = useObject(IdentityProvidersService.method.getIdentityProvider, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The identity provider cannot be shown" onRetry={retry} />;
  if (provider === undefined) return <Loading />;
  return (
    <ObjectFrame
      kind="Identity provider"
      name={provider.name}
      uid={uid}
      method={IdentityProvidersService.method.getIdentityProvider}
      actions={
        <>
          <EditProviderButton provider={provider} />
          <DeleteProviderButton provider={provider} />
        </>
      }
      tabs={[
        { id: "details", title: "Details", content: <ProviderDetails provider={provider} /> },
        { id: "mappings", title: "Group mappings", content: <GroupMappings provider={uid} organization={organization} /> },
        { id: "scim", title: "SCIM", content: <Scim provider={provider} /> },
        { id: "events", title: "Events", content: <EventsTab group={organization} subject={uid} /> },
      ]}
    />
  );
}

function DeleteProviderButton({ provider: { uid, name } }: { readonly provider: IdentityProvider }) {
  const organization = useOrganization();
  const navigate = useNavigate();
  const remove = useDelete(IdentityProvidersService.method.deleteIdentityProvider);
  return (
    <ConfirmButton
      label="Delete"
      question={`Delete ${name}?`}
      method={IdentityProvidersService.method.deleteIdentityProvider}
      uid={uid}
      run={() => remove({ uid }, () => navigate({ to: screenPath(organization, "/identity-providers"), search: {} }))}
    >
      Its group mappings go with it. People keep their identities and roles, and can no longer sign in with it.
    </ConfirmButton>
  );
}

function ProviderDetails({
  provider: { description, defaultRole, configuration, createTime, updateTime },
}: {
  readonly provider: IdentityProvider;
}) {
  const oidc = configuration.value;
  return (
    <Details
      rows={[
        ["Description", <bdi key="description">{description}</bdi>],
        ["Issuer", <bdi key="issuer">{oidc?.issuer}</bdi>],
        ["Client id", <bdi key="client">{oidc?.clientId}</bdi>],
        ["PKCE", oidc?.pkceEnabled ? "on" : "off"],
        ["Scopes", <bdi key="scopes">{["openid", ...(oidc?.additionalScopes ?? [])].join(" ")}</bdi>],
        ["Claim with the groups", <bdi key="groups">{oidc?.groupsClaim || "none"}</bdi>],
        ["SCIM matches", enumText(IdentityProvider_OIDC_CorrelationRuleSchema, oidc?.correlationRule ?? 0)],
        [
          "First role",
          <ScreenLink key="role" to="/role" uid={defaultRole}>
            {defaultRole}
          </ScreenLink>,
        ],
        ["Created", <Time key="created" value={createTime} />],
        ["Changed", <Time key="changed" value={updateTime} />],
      ]}
    />
  );
}
