/** The names a service answers to on the gRPC wire: its own, `v2beta1` for `v2`, and the vendor's for both. Messages are the same under each. */
import type { DescService } from "@bufbuild/protobuf";
import { type VendorProfile, vendorProfiles, wireName } from "../../lib/vendor-profile.ts";

export interface ServiceName {
  /** As a client spells it, e.g. `platform.iam.v2beta1.GroupsService`. */
  readonly name: string;
  readonly service: DescService;
  /** The version that stands in the name where it is not the service's own. */
  readonly alias: string | undefined;
}

export interface CanonicalPath {
  readonly path: string;
  readonly alias: string | undefined;
}

/** Every name of every service; its own first. Throws where two services would have the same one. */
export function serviceNames(services: readonly DescService[], profile: VendorProfile): ServiceName[] {
  const names = new Map<string, ServiceName>();
  for (const service of services) {
    for (const entry of namesOf(service, profile)) {
      const other = names.get(entry.name);
      if (other !== undefined && other.service !== service)
        throw new Error(`${entry.name} would name both ${other.service.typeName} and ${service.typeName}`);
      if (other === undefined) names.set(entry.name, entry);
    }
  }
  return [...names.values()];
}

function namesOf(service: DescService, profile: VendorProfile): ServiceName[] {
  const { typeName } = service;
  const neutral = vendorProfiles.get("") as VendorProfile;
  const own = { name: typeName, service, alias: undefined };
  const profiles = profile.grpcRoot === undefined ? [neutral] : [neutral, profile];
  const aliases = typeName.split(".")[2] === "v2" ? [undefined, "v2beta1"] : [undefined];
  return [own, ...profiles.flatMap((each) => aliases.map((alias) => ({ name: wireName(each, typeName, alias), service, alias })))];
}

/** Request path → the path of the service's own name. Compiled at boot; has every path that is served. */
export function compileCanonicalPaths(names: readonly ServiceName[]): ReadonlyMap<string, CanonicalPath> {
  const paths = names.flatMap(({ name, service, alias }) =>
    service.methods.map((method): [string, CanonicalPath] => [
      `/${name}/${method.name}`,
      { path: `/${service.typeName}/${method.name}`, alias },
    ]),
  );
  return new Map(paths);
}
