/** Finds and creates the IAM resources that many tests start from. */
import { IdentitiesService, ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { parse, textOf } from "../json.ts";
import type { World } from "../world.ts";

/** Settings of an identity provider. No server listens at its address, so a connection fails at once. */
export const unreachableOidc = {
  issuer: "http://127.0.0.1:1/idp",
  clientId: "holt",
  additionalScopes: ["profile", "email", "groups"],
  groupsClaim: "groups",
  correlationRule: "CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID",
  pkceEnabled: true,
};

/** @returns the uid of the built-in role with this name */
export async function builtInRole(world: World, name: string): Promise<string> {
  const { roles } = await world.must(RolesService.method.listRoles, { name, uidp: { inRoot: true } });
  return roles[0]?.uid ?? "";
}

/** Creates an identity provider in the organization. @returns its uid */
export async function providerIn(world: World, organization: string, name = "provider", token?: string): Promise<string> {
  const body = { name, defaultRole: await builtInRole(world, "viewer"), oidc: unreachableOidc };
  return textOf(parse((await world.raw("POST", `/iam/v2/identityProviders/${organization}`, body, token)).text).uid);
}

/** Creates an identity that stands for one of the platform's own services. @returns its uid */
export async function createServicePrincipal(world: World, parent: string, principal: keyof typeof ServicePrincipal): Promise<string> {
  const relationship = { case: "servicePrincipal", value: ServicePrincipal[principal] } as const;
  return (await world.must(IdentitiesService.method.createIdentity, { parent, identity: { name: "service", relationship } })).uid;
}
