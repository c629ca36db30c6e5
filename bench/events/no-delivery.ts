/** Loaded with --import: the server appends events but never delivers them. */
import { replaceFunction } from "./replace-function.ts";

const inactiveDelivery = "{ wake() {}, async [Symbol.asyncDispose]() {} }";
replaceFunction(
  "/src/events/delivery/delivery.ts",
  "export function startDelivery(",
  `export function startDelivery() { return ${inactiveDelivery}; }`,
);
