/**
 * Compiles the methods of the contract to operations at boot: routes, access rule, event, handler. A contract that cannot be served stops
 * the boot.
 */
import { type DescMethod, type DescMethodUnary, type DescService, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { events, http, iam, isInternalOnly } from "@holt/api";
import { Audience } from "@holt/api/gen/platform/annotations/annotations_pb.ts";
import type { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import type { Handler, ServiceImplementation } from "./implement.ts";
import { compileScope, type Scope, type ServiceKinds } from "./scope.ts";
import { compileValidator } from "./validate.ts";

/** One `google.api.http` binding. `body` is a proto field name, `*`, or the empty string for none. */
export interface HttpBinding {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body: string;
}

/** The rule for callers. `public` and `self` operations need no Holt token; a `self` operation authenticates the caller itself. */
export type AccessRule =
  | { readonly mode: "public" | "self" }
  | { readonly mode: "unscoped"; readonly capabilities: bigint }
  | ({ readonly mode: "scoped"; readonly capabilities: bigint } & Scope);

export interface EventRule {
  /** Without the vendor's prefix, e.g. `api.iam.group.created.v1`. */
  readonly type: string;
  readonly extensions: readonly string[];
  readonly audience: "customer" | "internal";
}

export interface Operation {
  /** Full name as on the gRPC wire without the leading slash: `platform.iam.v2.GroupsService/GetGroup`. */
  readonly name: string;
  readonly method: DescMethodUnary;
  /** Error domain: `iam`, `registry` …, or `holt` for Holt's own additions. */
  readonly domain: string;
  /** Throws INVALID_ARGUMENT if the request lacks a required field. */
  validate(request: Message): void;
  readonly bindings: readonly HttpBinding[];
  readonly access: AccessRule;
  readonly event: EventRule | undefined;
  /** Whether the handler gets a write handle: true unless all bindings are GET or the handler is a `read` handler. */
  readonly writes: boolean;
  /** Whether the operation stores more than it removes, so that it is refused while the disk is nearly full. Sign-ins go on. */
  readonly grows: boolean;
  /** Undefined if the operation is in the list of unimplemented methods. */
  readonly handler: Handler | undefined;
}

/**
 * Compiles every method of the services.
 * @param implementations one per implemented service
 * @param unimplemented full names of methods that are deliberately not served yet
 * @throws Error that names the method if an annotation, a scope field or a handler is missing, or a handler is superfluous
 */
export function compileOperations(
  services: readonly DescService[],
  implementations: readonly ServiceImplementation[],
  unimplemented: ReadonlySet<string>,
): Operation[] {
  const handlers = new Map(implementations.flatMap((implementation) => [...implementation.handlers]));
  // Several domains can implement methods of one service; at most one of them names its kinds.
  const kinds = new Map(implementations.filter(({ kind }) => kind !== undefined).map((each) => [each.service, each]));
  const operations = services.flatMap((service) =>
    service.methods.map((method) => {
      const kindsOfService = kinds.get(service) ?? { kind: undefined, parentKind: "Group" };
      return compileOperation(method, kindsOfService, handlers.get(fullName(method)), unimplemented.has(fullName(method)));
    }),
  );
  const known = new Set(operations.map((operation) => operation.name));
  for (const name of [...handlers.keys(), ...unimplemented]) {
    if (!known.has(name)) throw new Error(`${name}: the contract has no such method; is its service in the list of packages/api/index.ts?`);
  }
  return operations;
}

export function fullName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

function compileOperation(method: DescMethod, kinds: ServiceKinds, handler: Handler | undefined, isUnimplemented: boolean): Operation {
  const name = fullName(method);
  if (!isUnary(method)) throw new Error(`${name}: only unary methods can be served`);
  if (handler === undefined && !isUnimplemented)
    throw new Error(`${name}: has no handler and is not on the list of unimplemented operations`);
  if (handler !== undefined && isUnimplemented) throw new Error(`${name}: has a handler and is on the list of unimplemented operations`);
  const bindings = compileBindings(method);
  const access = compileAccess(method, kinds);
  const writes = (bindings.length === 0 || bindings.some((binding) => binding.method !== "GET")) && handler?.kind !== "read";
  const removes = /^(Delete|BatchDelete|Remove|Revoke|Cancel)/.test(method.name) || bindings.some((binding) => binding.method === "DELETE");
  return {
    name,
    method,
    domain: domainOf(method.parent.typeName),
    validate: compileValidator(method.input),
    bindings,
    access,
    event: compileEvent(method),
    writes,
    grows: writes && !removes && access.mode !== "self" && access.mode !== "public",
    handler,
  };
}

/** `iam` of `platform.iam.v2.GroupsService`; a package outside of `platform` is one domain. */
function domainOf(typeName: string): string {
  const [root = "", domain = ""] = typeName.split(".");
  return root === "platform" ? domain : root;
}

function isUnary(method: DescMethod): method is DescMethod & DescMethodUnary {
  return method.methodKind === "unary";
}

function compileBindings(method: DescMethod): HttpBinding[] {
  // Such a method is served by gRPC only.
  if (!hasOption(method, http)) return [];
  const rule = getOption(method, http);
  return [rule, ...rule.additionalBindings].map(({ pattern, body }) => {
    if (pattern.case === undefined || pattern.case === "custom")
      throw new Error(`${fullName(method)}: the http pattern is not one of GET, POST, PUT, PATCH, DELETE`);
    return { method: pattern.case.toUpperCase() as HttpBinding["method"], path: pattern.value, body };
  });
}

function compileAccess(method: DescMethod, kinds: ServiceKinds): AccessRule {
  if (!hasOption(method, iam)) return { mode: "self" };
  const { mode } = getOption(method, iam);
  if (mode.case === undefined) throw new Error(`${fullName(method)}: the iam annotation says neither enabled nor disabled`);
  if (mode.case === "disabled") return { mode: "public" };
  const capabilities = capabilitySet(required(mode.value.capabilities));
  if (mode.value.unscoped || mode.value.capabilities.length === 0) return { mode: "unscoped", capabilities };
  const scope = compileScope(method, kinds);
  if (scope === undefined)
    throw new Error(`${fullName(method)}: is scoped, but no field of ${method.input.typeName} is marked as its scope`);
  return { mode: "scoped", capabilities, ...scope };
}

/**
 * Waives internal-only capabilities that a method asks for along with others: they protect data that a vendor's staff curates from its
 * customers. On a self-hosted server the operator counts as staff, so the other capabilities decide. A method that asks only for internal
 * capabilities stays closed.
 */
function required(capabilities: readonly Capability[]): readonly Capability[] {
  const others = capabilities.filter((capability) => !isInternalOnly(capability));
  return others.length === 0 ? capabilities : others;
}

function compileEvent(method: DescMethod): EventRule | undefined {
  if (!hasOption(method, events)) return undefined;
  const { type, extensions, audience } = getOption(method, events);
  return { type, extensions, audience: audience === Audience.CUSTOMER ? "customer" : "internal" };
}
