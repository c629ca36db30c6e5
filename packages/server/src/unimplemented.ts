/** Operations of the contract that answer UNIMPLEMENTED on purpose. An operation without a handler that is not listed stops the boot. */
import { services } from "@holt/api";
import { fullName } from "./api/call/operation.ts";

/** Services of which no method is served. */
const unimplementedServices: readonly string[] = [
  "platform.libraries.v1.AWSMarketplaceSubscriptions",
  "platform.libraries.v1.Entitlements",
  "platform.libraries.v1.LibraryPolicies",
  "platform.libraries.v1.LibraryPolicyBindings",
  "platform.libraries.v1.LibraryPolicyBlockEvents",
  "platform.libraries.v1.Malware",
  "platform.libraries.v1.NpmPackages",
  "platform.libraries.v1.ResolutionCache",
  "platform.registry.v1.Apko",
  "platform.registry.v1.Charts",
  "platform.registry.v1.Entitlements",
  "platform.registry.v1.Policies",
];

/** Single methods of services that are served otherwise. */
const unimplementedMethods: readonly string[] = [
  "platform.registry.v1.Registry/CreateRepo",
  "platform.registry.v1.Registry/UpdateRepo",
  "platform.registry.v1.Registry/ListRepos",
  "platform.registry.v1.Registry/GetRepoCountBySource",
  "platform.registry.v1.Registry/DeleteRepo",
  "platform.registry.v1.Registry/CreateTag",
  "platform.registry.v1.Registry/UpdateTag",
  "platform.registry.v1.Registry/DeleteTag",
  "platform.registry.v1.Registry/ListTags",
  "platform.registry.v1.Registry/GetRepoTagsSummary",
  "platform.registry.v1.Registry/ListEolTags",
  "platform.registry.v1.Registry/ListTagHistory",
  "platform.registry.v1.Registry/GetManifestDigestCount",
  "platform.registry.v1.Registry/GetUpdateStatus",
  "platform.registry.v1.Registry/GetSyncStatus",
  "platform.registry.v1.Registry/ListSyncStatuses",
  "platform.registry.v1.Registry/CreateDeployment",
  "platform.registry.v1.Registry/UpdateDeployment",
  "platform.registry.v1.Registry/GetDeployment",
  "platform.registry.v1.Registry/GetRegistrySettings",
  "platform.registry.v1.Registry/UpdateRegistrySettings",
];

/** Full names of methods. */
export const unimplemented: ReadonlySet<string> = new Set([
  ...services.filter((service) => unimplementedServices.includes(service.typeName)).flatMap((service) => service.methods.map(fullName)),
  ...unimplementedMethods,
]);
