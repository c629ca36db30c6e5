/** Vendor-specific names on the wire. The neutral profile is Holt's own; other profiles add a vendor's names to it. */

export interface VendorProfile {
  readonly name: string;
  /**
   * Second package root of the gRPC services besides `platform`; undefined for none. Its v1 packages have no version.
   */
  readonly grpcRoot: string | undefined;
  /**
   * Whether a query parameter that the contract does not have is refused. A vendor's newer clients may send newer parameters, which
   * are ignored with a Warning header.
   */
  readonly unknownParameters: "refuse" | "ignore";
  /** Prefix of every event type: `<prefix>.api.iam.group.created.v1`. */
  readonly eventPrefix: string;
  /** Error domains are `<domain>.<errorDomain>`, resource types `<domain>.<errorDomain>/<Kind>`. */
  readonly errorDomain: string;
  /** Prefixes of the `-Audience` and `-Identity` headers that bind an AWS caller-identity proof to this server. */
  readonly proofHeaders: readonly string[];
  /** Prefix of the environment variables that belong to the vendor in images. */
  readonly environmentPrefix: string;
  /** Path segments of the registry's own additions: `/v2/<name>/_holt/history/<tag>`. */
  readonly registrySegments: readonly string[];
  /** Labels of library versions with patched vulnerabilities: `1.2.3+holt.1`. */
  readonly remediatedLabels: readonly string[];
  /** Prefix of generated advisory ids: `HOLT-2c4f-6h8j-mpqr`. */
  readonly advisoryPrefix: string;
  /** Prefix of the User-Agent of deliveries. */
  readonly userAgent: string;
}

const neutral: VendorProfile = {
  name: "",
  grpcRoot: undefined,
  unknownParameters: "refuse",
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
      unknownParameters: "ignore",
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
 * The full name of a message or service for clients of this profile: `platform.iam.v2.Group` becomes
 * `chainguard.platform.iam.v2.Group`, and `platform.iam.v1.Group` becomes `chainguard.platform.iam.Group`.
 * @param version the version in the client's request, which names messages of v2 if it is an alias (`v2beta1`)
 */
export function wireName(profile: VendorProfile, typeName: string, version: string | undefined): string {
  const [, domain = "", own = "", ...rest] = typeName.split(".");
  if (!typeName.startsWith("platform.")) return typeName;
  const wireVersion = own === "v2" && version === "v2beta1" ? version : own;
  if (profile.grpcRoot === undefined) return ["platform", domain, wireVersion, ...rest].join(".");
  return [profile.grpcRoot, domain, ...(wireVersion === "v1" && domain !== "vulnerabilities" ? [] : [wireVersion]), ...rest].join(".");
}
