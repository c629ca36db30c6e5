/** Renders the description of this SCIM server: configuration, resource types and schemas (RFC 7643 §5 to §7). */
import { MAX_COUNT } from "./answer.ts";
import { MAX_BULK_BYTES, MAX_BULK_OPERATIONS } from "./bulk-request.ts";
import { type Json, resourceTypes } from "./schema.ts";

const CORE = "urn:ietf:params:scim:schemas:core:2.0";

export function serviceProviderConfig(base: string): Json {
  return {
    schemas: [`${CORE}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: true, maxOperations: MAX_BULK_OPERATIONS, maxPayloadSize: MAX_BULK_BYTES },
    filter: { supported: true, maxResults: MAX_COUNT },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "Bearer token",
        description: "The SCIM token of the identity provider, in the header Authorization: Bearer <token>",
        specUri: "https://www.rfc-editor.org/info/rfc6750",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
  };
}

export function describeResourceTypes(base: string): Json[] {
  return resourceTypes.map(({ name, endpoint, urn, description, extensions }) => ({
    schemas: [`${CORE}:ResourceType`],
    id: name,
    name,
    endpoint,
    description,
    schema: urn,
    ...(extensions.length > 0 && { schemaExtensions: extensions.map((extension) => ({ schema: extension.urn, required: false })) }),
    meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${name}` },
  }));
}
