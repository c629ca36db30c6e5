/** Operations of the contract that answer UNIMPLEMENTED on purpose. An operation without a handler that is not listed stops the boot. */
import { services } from "@holt/api";
import { fullName } from "./api/call/operation.ts";

/** Services of which no method is served. */
const unimplementedServices: readonly string[] = [];

/** Full names of methods. */
export const unimplemented: ReadonlySet<string> = new Set(
  services.filter((service) => unimplementedServices.includes(service.typeName)).flatMap((service) => service.methods.map(fullName)),
);
