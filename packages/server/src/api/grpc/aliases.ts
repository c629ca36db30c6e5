/** The names of a service on the gRPC wire: its own, `v2beta1` for `v2`, and the vendor's for both. All names share the same messages. */
import type { DescService } from "@bufbuild/protobuf";
import { type VendorProfile, vendorProfiles, wireName } from "../../lib/vendor-profile.ts";

export interface ServiceName {
  /** In the client's spelling, e.g. `platform.iam.v2beta1.GroupsService`. */
  readonly name: string;
  readonly service: DescService;
  /** The version in the name, if it is not the service's own. */
  readonly alias: string | undefined;
}

export interface CanonicalPath {
  readonly path: string;
  readonly alias: string | undefined;
}

/** Every name of every service; its own first. Throws if two services would share a name. */
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

/** Maps every served path to the path under the service's own name. Compiled at boot. */
export function compileCanonicalPaths(names: readonly ServiceName[]): ReadonlyMap<string, CanonicalPath> {
  const paths = names.flatMap(({ name, service, alias }) =>
    service.methods.map((method): [string, CanonicalPath] => [
      `/${name}/${method.name}`,
      { path: `/${service.typeName}/${method.name}`, alias },
    ]),
  );
  return new Map(paths);
}
