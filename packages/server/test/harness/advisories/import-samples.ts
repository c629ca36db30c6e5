/** A small document in each format, about made-up packages. */

export const WOLFI = `schema-version: 2.0.2

package:
  name: example-server

advisories:
  - id: CGA-2222-3333-4444
    aliases:
      - CVE-2026-0001
      - GHSA-aaaa-bbbb-cccc
    events:
      - timestamp: 2026-01-02T03:04:05Z
        type: detection
        data:
          type: scan/v1
          data:
            subpackageName: example-server
            componentID: "0123456789abcdef"
            componentName: example.test/lib
            componentVersion: v1.0.0
            componentType: go-module
            componentLocation: /usr/bin/example
            scanner: grype
      - timestamp: 2026-01-03T00:00:00Z
        type: true-positive-determination
        data:
          note: it is so
      - timestamp: 2026-01-04T00:00:00Z
        type: fixed
        data:
          fixed-version: 1.2.3-r0
  - id: CGA-2222-3333-5555
    aliases: [CVE-2026-0002]
    events:
      - {timestamp: 2026-01-02T00:00:00Z, type: detection, data: {type: nvdapi, data: {cpeSearched: a, cpeFound: b}}}
      - {timestamp: 2026-01-02T00:00:00Z, type: detection, data: {type: manual}}
      - {timestamp: 2026-01-03T00:00:00Z, type: pending-upstream-fix, data: {note: soon}}
      - {timestamp: 2026-01-04T00:00:00Z, type: fix-not-planned, data: {note: never}}
      - {timestamp: 2026-01-05T00:00:00Z, type: analysis-not-planned, data: {note: too old}}
      - timestamp: 2026-01-06T00:00:00Z
        type: false-positive-determination
        data: {type: vulnerable-code-not-in-execution-path, note: unused}
`;

export const WOLFI_V1 = `schema-version: "1"
package:
  name: example-tool
advisories:
  CVE-2026-0003:
    - {timestamp: 2026-01-01T00:00:00Z, status: under_investigation}
    - {timestamp: 2026-01-02T00:00:00Z, status: affected, action: wait}
    - {timestamp: 2026-01-03T00:00:00Z, status: fixed, fixed-version: 2.0}
    - {timestamp: 2026-01-04T00:00:00Z, status: not_affected, justification: vulnerable_code_not_present, impact: gone}
`;

export function osv(change: object = {}) {
  return {
    schema_version: "1.6.0",
    id: "GHSA-xxxx-yyyy-zzzz",
    published: "2026-01-01T00:00:00Z",
    modified: "2026-02-01T00:00:00Z",
    aliases: ["CVE-2026-0004"],
    summary: "An example is too trusting",
    details: "Whoever asks gets everything.",
    severity: [
      { type: "CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" },
      { type: "CVSS_V4", score: "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N" },
      { type: "Ubuntu", score: "medium" },
    ],
    references: [
      { type: "ADVISORY", url: "https://example.test/advisory" },
      { type: "FIX", url: "https://example.test/commit/1" },
      { type: "WEB", url: "javascript:alert(1)" },
    ],
    affected: [
      {
        package: { ecosystem: "npm", name: "@example/pack", purl: "pkg:npm/%40example/pack" },
        ranges: [
          { type: "SEMVER", events: [{ introduced: "0" }, { fixed: "1.2.3" }, { introduced: "2.0.0" }, { fixed: "2.0.5" }] },
          { type: "GIT", repo: "https://example.test/pack", events: [{ introduced: "0" }, { fixed: "0123456789abcdef" }] },
        ],
      },
      { package: { ecosystem: "Debian:12", name: "node-example" }, versions: ["1.0"] },
    ],
    ...change,
  };
}

export const OPENVEX = {
  "@context": "https://openvex.dev/ns/v0.2.0",
  "@id": "https://example.test/vex/1",
  author: "Example",
  timestamp: "2026-03-01T00:00:00Z",
  version: 1,
  statements: [
    {
      vulnerability: { name: "CVE-2026-0005", aliases: ["GHSA-dddd-eeee-ffff"] },
      timestamp: "2026-03-02T00:00:00Z",
      products: [{ "@id": "pkg:oci/example-image?arch=amd64", subcomponents: [{ "@id": "pkg:apk/wolfi/example-lib@1.0-r0" }] }],
      status: "not_affected",
      justification: "component_not_present",
      impact_statement: "it is not in there",
    },
    { vulnerability: { name: "CVE-2026-0005" }, products: [{ "@id": "pkg:maven/org.example/lib@3.1" }], status: "fixed" },
    { vulnerability: { name: "CVE-2026-0005" }, products: [{ "@id": "https://example.test/product" }], status: "under_investigation" },
  ],
};

export const CSAF = {
  document: {
    category: "csaf_vex",
    csaf_version: "2.0",
    title: "Example",
    tracking: { id: "EX-1", current_release_date: "2026-04-01T00:00:00Z" },
  },
  product_tree: {
    branches: [
      {
        category: "vendor",
        name: "Example",
        branches: [
          {
            category: "product_name",
            name: "Example Server",
            branches: [
              { category: "product_version", name: "4.0", product: { name: "Example Server 4.0", product_id: "A" } },
              { category: "product_version", name: "4.1", product: { name: "Example Server 4.1", product_id: "B" } },
            ],
          },
          {
            category: "product_version",
            name: "lib",
            product: {
              name: "lib",
              product_id: "C",
              product_identification_helper: { purl: "pkg:rpm/example/lib@1.5-2?arch=x86_64" },
            },
          },
          { category: "product_name", name: "Host", product: { name: "Host", product_id: "H" } },
        ],
      },
    ],
    relationships: [
      {
        category: "default_component_of",
        product_reference: "C",
        relates_to_product_reference: "H",
        full_product_name: { name: "lib in Host", product_id: "H:C" },
      },
    ],
    product_groups: [{ group_id: "G", product_ids: ["A", "B"] }],
  },
  vulnerabilities: [
    {
      cve: "CVE-2026-0006",
      product_status: { known_affected: ["A"], fixed: ["B", "H:C"] },
      remediations: [{ category: "no_fix_planned", details: "take 4.1", product_ids: ["A"] }],
    },
    {
      cve: "CVE-2026-0007",
      product_status: { known_not_affected: ["A", "B"] },
      flags: [{ label: "inline_mitigations_already_exist", group_ids: ["G"] }],
      threats: [{ category: "impact", details: "it is guarded", product_ids: ["A"] }],
    },
  ],
};

export const SECDB = {
  apkurl: "{{urlprefix}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk",
  reponame: "os",
  packages: [
    {
      pkg: { name: "example-lib", secfixes: { "1.0-r1": ["CVE-2026-0008 GHSA-gggg-hhhh-jjjj", "CVE-2026-0009"], "0": ["CVE-2026-0010"] } },
    },
  ],
};

export const CVE = {
  dataType: "CVE_RECORD",
  dataVersion: "5.1",
  cveMetadata: {
    cveId: "CVE-2026-0011",
    state: "PUBLISHED",
    datePublished: "2026-01-01T00:00:00",
    dateUpdated: "2026-05-01T00:00:00.000Z",
  },
  containers: {
    cna: {
      title: "A title",
      descriptions: [
        { lang: "de", value: "Deutsch" },
        { lang: "en-US", value: "English" },
      ],
      references: [{ url: "https://example.test/patch", tags: ["patch"] }],
      metrics: [{ cvssV3_1: { vectorString: "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:C/C:L/I:N/A:N" } }],
    },
    adp: [{ metrics: [{ cvssV2_0: { vectorString: "AV:N/AC:L/Au:N/C:P/I:P/A:P" } }] }],
  },
};
