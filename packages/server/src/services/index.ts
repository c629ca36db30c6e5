/** Everything that is served, and what is knowingly not served yet. */
import { services } from "@holt/api";
import type { ServiceImplementation } from "../call/implement.ts";
import { fullName } from "../call/operation.ts";
import { securityAdvisoryServices } from "./advisory/security-advisories.ts";
import { authService } from "./auth/auth.ts";
import { securityTokenService } from "./auth/security-token.ts";
import type { ServiceDependencies } from "./dependencies.ts";
import { subscriptionsService } from "./events/subscriptions.ts";
import { accessService } from "./holt/access.ts";
import { advisoryMirrorsService } from "./holt/advisory-mirrors.ts";
import { deliveriesService } from "./holt/deliveries.ts";
import { eventsService } from "./holt/events.ts";
import { imagePackagesService } from "./holt/image-packages.ts";
import { importsService } from "./holt/imports.ts";
import { accountAssociationsService } from "./iam/account-associations.ts";
import { externalGroupRoleMappingsService } from "./iam/external-group-role-mappings.ts";
import { groupInvitesService } from "./iam/group-invites.ts";
import { groupsService } from "./iam/groups.ts";
import { identitiesService } from "./iam/identities.ts";
import { identityProvidersService } from "./iam/identity-providers.ts";
import { roleBindingsService } from "./iam/role-bindings.ts";
import { rolesService } from "./iam/roles.ts";
import { termsService } from "./iam/terms.ts";
import { artifactsService } from "./libraries/artifacts.ts";
import { pingService, pingServiceV1 } from "./ping/ping.ts";
import { imagesService } from "./registry/images.ts";
import { reposService } from "./registry/repos.ts";
import { tagsService } from "./registry/tags.ts";
import { advisoriesServiceV1 } from "./vulnerabilities/advisories-v1.ts";
import { advisoriesServiceV2 } from "./vulnerabilities/advisories-v2.ts";

export function createServices(dependencies: ServiceDependencies): ServiceImplementation[] {
  return [
    groupsService(dependencies),
    identitiesService(dependencies),
    rolesService(dependencies),
    roleBindingsService(dependencies),
    identityProvidersService(dependencies),
    externalGroupRoleMappingsService(dependencies),
    groupInvitesService(dependencies),
    accountAssociationsService(dependencies),
    termsService(dependencies),
    reposService(dependencies),
    tagsService(dependencies),
    imagesService,
    imagePackagesService(dependencies),
    artifactsService(dependencies),
    advisoriesServiceV1(dependencies),
    advisoriesServiceV2(dependencies),
    subscriptionsService(dependencies),
    deliveriesService(dependencies),
    eventsService(dependencies),
    authService(dependencies),
    securityTokenService(dependencies),
    accessService(dependencies),
    importsService(dependencies),
    advisoryMirrorsService(dependencies),
    ...securityAdvisoryServices(dependencies),
    pingService,
    pingServiceV1,
  ];
}

/** Whole services, then single methods of served ones. They answer UNIMPLEMENTED. */
const unimplementedServices: readonly string[] = [];

export const unimplemented: ReadonlySet<string> = new Set([
  ...services.filter((service) => unimplementedServices.includes(service.typeName)).flatMap((service) => service.methods.map(fullName)),
]);
