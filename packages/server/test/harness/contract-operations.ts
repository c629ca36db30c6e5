/** For tests: the operations of the contract, without handlers. */
import { services } from "@holt/api";
import { compileOperations, fullName, type Operation } from "../call/operation.ts";

export const contractOperations: readonly Operation[] = compileOperations(
  services,
  [],
  new Set(services.flatMap((service) => service.methods.map(fullName))),
);
