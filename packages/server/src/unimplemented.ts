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

/** Full names of methods. */
export const unimplemented: ReadonlySet<string> = new Set(
  services.filter((service) => unimplementedServices.includes(service.typeName)).flatMap((service) => service.methods.map(fullName)),
);
