/** The operations of the contract, as the conformance suites read them from its descriptors. */
import { type DescMethodUnary, getOption, hasOption } from "@bufbuild/protobuf";
import { http, iam, services } from "@holt/api";
import type { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { unimplemented } from "../../src/unimplemented.ts";

export interface ContractOperation {
  /** Full name: `platform.iam.v2.GroupsService/GetGroup`. */
  readonly name: string;
  readonly method: DescMethodUnary;
  /** False if only gRPC serves it. */
  readonly hasRest: boolean;
  /** False if the server answers UNIMPLEMENTED. */
  readonly isServed: boolean;
  /** True if callers need no token of this server. */
  readonly isPublic: boolean;
  /** True if the annotation ties the capabilities to a group that the request names. */
  readonly isScoped: boolean;
  readonly capabilities: readonly Capability[];
}

export const operations: readonly ContractOperation[] = services.flatMap((service) =>
  service.methods.map((method) => describeOperation(method as DescMethodUnary)),
);

function describeOperation(method: DescMethodUnary): ContractOperation {
  const name = operationName(method);
  const mode = hasOption(method, iam) ? getOption(method, iam).mode : undefined;
  const enabled = mode?.case === "enabled" ? mode.value : undefined;
  const capabilities = enabled?.capabilities ?? [];
  return {
    name,
    method,
    hasRest: hasOption(method, http),
    isServed: !unimplemented.has(name),
    isPublic: enabled === undefined,
    isScoped: capabilities.length > 0 && enabled?.unscoped === false,
    capabilities,
  };
}

export function operationName({ parent, name }: DescMethodUnary): string {
  return `${parent.typeName}/${name}`;
}
