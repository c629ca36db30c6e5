/** Everything that is served, and what is knowingly not served yet. */
import { services } from "@holt/api";
import { advisoriesServiceV1 } from "./advisories/api/advisories-v1.ts";
import { advisoriesServiceV2 } from "./advisories/api/advisories-v2.ts";
import { advisoryMirrorsService } from "./advisories/api/advisory-mirrors.ts";
import { importsService } from "./advisories/api/imports.ts";
import { securityAdvisoryServices } from "./advisories/api/published/security-advisories.ts";
import type { ServiceImplementation } from "./api/call/implement.ts";
import { fullName } from "./api/call/operation.ts";
import { pingService, pingServiceV1 } from "./api/ping.ts";
import type { ServiceDependencies } from "./dependencies-services.ts";
import { deliveriesService } from "./events/api/deliveries.ts";
import { eventsService } from "./events/api/events.ts";
import { subscriptionsService } from "./events/api/subscriptions.ts";
import { accessService } from "./iam/api/access.ts";
import { accountAssociationsService } from "./iam/api/account-associations.ts";
import { authService } from "./iam/api/auth.ts";
import { externalGroupRoleMappingsService } from "./iam/api/external-group-role-mappings.ts";
import { groupInvitesService } from "./iam/api/group-invites.ts";
import { groupsService } from "./iam/api/groups.ts";
import { identitiesService } from "./iam/api/identities.ts";
import { identityProvidersService } from "./iam/api/identity-providers.ts";
import { roleBindingsService } from "./iam/api/role-bindings.ts";
import { rolesService } from "./iam/api/roles.ts";
import { securityTokenService } from "./iam/api/security-token.ts";
import { termsService } from "./iam/api/terms.ts";
import { artifactsService } from "./libraries/api/artifacts.ts";
import { imagePackagesService } from "./registry/api/image-packages.ts";
import { imagesService } from "./registry/api/images.ts";
import { reposService } from "./registry/api/repos.ts";
import { tagsService } from "./registry/api/tags.ts";

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
    ...securityAdvisoryServices(dependencies),
    importsService(dependencies),
    advisoryMirrorsService(dependencies),
    pingService,
    pingServiceV1,
  ];
}

/** Whole services, then single methods of served ones. They answer UNIMPLEMENTED. */
const unimplementedServices: readonly string[] = [];

export const unimplemented: ReadonlySet<string> = new Set([
  ...services.filter((service) => unimplementedServices.includes(service.typeName)).flatMap((service) => service.methods.map(fullName)),
]);
