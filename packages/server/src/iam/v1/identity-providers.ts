/** Identity providers in version 1 of the API, where the default role is optional. */
import { IdentityProviders } from "@holt/api/gen/platform/iam/v1/identity_providers_pb.ts";
import { implement } from "../../api/call/implement.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";
import { type IdentityProvidersCollaborators, identityProvidersService } from "../api/identity-providers.ts";

export function identityProvidersServiceV1(collaborators: IdentityProvidersCollaborators) {
  const services = [identityProvidersService({ ...collaborators, isDefaultRoleOptional: true })];
  return implement(IdentityProviders, deriveMethods(IdentityProviders, { services, kind: "IdentityProvider" }), "IdentityProvider");
}
