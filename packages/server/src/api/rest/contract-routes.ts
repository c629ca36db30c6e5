/** For tests: the routes of the contract, served by nobody. */
import { services } from "@holt/api";
import { compileOperations, fullName, type Operation } from "../call/operation.ts";

export const contractOperations: readonly Operation[] = compileOperations(
  services,
  [],
  new Set(services.flatMap((service) => service.methods.map(fullName))),
);
