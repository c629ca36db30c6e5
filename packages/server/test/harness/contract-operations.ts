/** The operations of the contract as the server compiles them, without handlers. */
import { services } from "@holt/api";
import { compileOperations, fullName, type Operation } from "../../src/api/call/operation.ts";

export const contractOperations: readonly Operation[] = compileOperations(
  services,
  [],
  new Set(services.flatMap((service) => service.methods.map(fullName))),
);
