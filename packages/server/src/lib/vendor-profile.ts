/** Names on the wire that belong to a vendor, in one place. The neutral profile is Holt's own; another one adds its vendor's names to what Holt serves. */

export interface VendorProfile {
  readonly name: string;
  /** Package root under which gRPC services answer beside `platform`; undefined for none. v1 packages there carry no version. */
  readonly grpcRoot: string | undefined;
  /** Before every event type: `<prefix>.api.iam.group.created.v1`. */
  readonly eventPrefix: string;
  /** Error domains are `<domain>.<errorDomain>`, resource types `<domain>.<errorDomain>/<Kind>`. */
  readonly errorDomain: string;
  /** Names before `-Audience` and `-Identity` of the headers that bind an AWS caller-identity proof to this server. */
  readonly proofHeaders: readonly string[];
  /** Environment variables of images that start like this are the vendor's. */
  readonly environmentPrefix: string;
  /** Path segments of the registry's own additions: `/v2/<name>/_holt/history/<tag>`. */
  readonly registrySegments: readonly string[];
  /** Labels of library versions in which vulnerabilities were patched: `1.2.3+holt.1`. */
  readonly remediatedLabels: readonly string[];
  /** Before the ids that advisories are given: `HOLT-2c4f-6h8j-mpqr`. */
  readonly advisoryPrefix: string;
  /** Start of the User-Agent of deliveries. */
  readonly userAgent: string;
}

const neutral: VendorProfile = {
  name: "",
  grpcRoot: undefined,
  eventPrefix: "dev.holt",
  errorDomain: "holt.dev",
  proofHeaders: ["holt"],
  environmentPrefix: "HOLT_",
  registrySegments: ["_holt"],
  remediatedLabels: ["holt", "remediated"],
  advisoryPrefix: "HOLT",
  userAgent: "Holt",
};

export const vendorProfiles: ReadonlyMap<string, VendorProfile> = new Map([
  ["", neutral],
  [
    "chainguard",
    {
      name: "chainguard",
      grpcRoot: "chainguard.platform",
      eventPrefix: "dev.chainguard",
      errorDomain: "chainguard.dev",
      proofHeaders: ["holt", "chainguard"],
      environmentPrefix: "CHAINGUARD_",
      registrySegments: ["_holt", "_chainguard"],
      remediatedLabels: ["holt", "remediated", "cgr"],
      advisoryPrefix: "CGA",
      userAgent: "Chainguard Enforce",
    },
  ],
]);

/**
 * The full name a message or service goes by for clients of this profile: `platform.iam.v2.Group` is
 * `chainguard.platform.iam.v2.Group`, and `platform.iam.v1.Group` is `chainguard.platform.iam.Group`.
 * @param alias the version the client used where it is an alias of the real one (`v2beta1`)
 */
export function wireName(profile: VendorProfile, typeName: string, alias: string | undefined): string {
  const [, domain = "", version = "", ...rest] = typeName.split(".");
  if (!typeName.startsWith("platform.")) return typeName;
  const shown = alias !== undefined && version === "v2" ? alias : version;
  if (profile.grpcRoot === undefined) return ["platform", domain, shown, ...rest].join(".");
  return [profile.grpcRoot, domain, ...(shown === "v1" && domain !== "vulnerabilities" ? [] : [shown]), ...rest].join(".");
}
