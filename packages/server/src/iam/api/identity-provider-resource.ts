/** Defines identity providers for the resource engine, and adds to them the state of SCIM, which is stored outside of the body. */
import {
  type IdentityProvider_SCIM,
  IdentityProvider_SCIMSchema,
  IdentityProviderSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { type Call, JsonText } from "../../api/call/call.ts";
import { defineResource } from "../../api/resource/define.ts";
import type { View } from "../../api/resource/standard-methods.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { oidcOf } from "./identity-provider-configuration.ts";
import { findScimTokens, scimEndpoint, scimState, scimSummary } from "./scim-state.ts";

/** The body holds neither the client secret nor the state of SCIM. */
export const identityProviders = defineResource(IdentityProviderSchema, {
  table: "identity_provider",
  columns: (provider) => {
    const { issuer, clientId } = oidcOf(provider);
    return { issuer, client_id: clientId, default_role: provider.defaultRole };
  },
  filters: { name: "name" },
  orderBy: ["uid", "name", "create_time", "update_time"],
});

const encodeScim = compileJsonEncoder(IdentityProvider_SCIMSchema);

/** The full view has the state of the token; the summary only says whether SCIM is enabled. */
export async function showProviders(bodies: readonly string[], { db, now }: Call, view: View, baseUrl: string): Promise<string[]> {
  const uids = bodies.map((body) => (JSON.parse(body) as { uid: string }).uid);
  const tokens = await findScimTokens(db, uids);
  return bodies.map((body, i) => {
    const uid = uids[i] ?? "";
    const endpoint = scimEndpoint(baseUrl, uid);
    return withScim(body, view === "full" ? scimState(tokens.get(uid), endpoint, now) : scimSummary(tokens.get(uid), endpoint));
  });
}

export async function showProvider(
  { schema, text }: JsonText<typeof IdentityProviderSchema>,
  call: Call,
  baseUrl: string,
): Promise<JsonText<typeof IdentityProviderSchema>> {
  const [body = text] = await showProviders([text], call, "full", baseUrl);
  return new JsonText(schema, body);
}

/** `scim` is the last field of the message, so it belongs at the end of the body. */
function withScim(body: string, scim: IdentityProvider_SCIM): string {
  return `${body.slice(0, -1)},"scim":${encodeScim(scim)}}`;
}
