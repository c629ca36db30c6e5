/** The vulnerabilities of an image, the most severe first. */
import {
  type ImageVulnerability,
  ImageVulnerabilitySchema,
  PackageVulnerability_FixSchema,
  type PackageVulnerability_State,
  PackageVulnerability_StateSchema,
  VulnerabilitiesService,
  type VulnerabilitySeverity,
  VulnerabilitySeveritySchema,
} from "@holt/api/gen/holt/v1/vulnerabilities_pb.ts";
import { Text } from "@mantine/core";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { enumChoices, enumText, enumValue } from "../object/enum-text.ts";
import type { ImageProps } from "./image-packages.tsx";

const columns: readonly Column<ImageVulnerability>[] = [
  { id: "id", title: "Vulnerability", text: ({ vulnerability }) => vulnerability?.vulnerabilityId ?? "" },
  {
    id: "severity",
    title: "Severity",
    text: ({ vulnerability }) => enumText(VulnerabilitySeveritySchema, vulnerability?.severity ?? 0),
  },
  { id: "package", title: "Package", text: ({ vulnerability }) => vulnerability?.packageName ?? "" },
  { id: "version", title: "Version", text: ({ vulnerability }) => vulnerability?.packageVersion ?? "" },
  { id: "fix", title: "Fixed in", text: fixText },
  {
    id: "state",
    title: "State",
    text: ({ vulnerability }) => enumText(PackageVulnerability_StateSchema, vulnerability?.state ?? 0),
  },
  {
    id: "reason",
    title: "Why it is suppressed",
    text: ({ vulnerability }) => [vulnerability?.suppression?.justification, vulnerability?.suppression?.note].filter(Boolean).join(": "),
    isHidden: true,
  },
  { id: "platform", title: "Platform", text: ({ platform }) => platform, isHidden: true },
  { id: "aliases", title: "Other ids", text: ({ vulnerability }) => vulnerability?.aliases.join(", ") ?? "", isHidden: true },
  timeColumn({ id: "since", title: "Known since", time: ({ vulnerability }) => vulnerability?.openTime, isHidden: true }),
];

function fixText({ vulnerability }: ImageVulnerability): string {
  return vulnerability?.fixedVersions.join(", ") || enumText(PackageVulnerability_FixSchema, vulnerability?.fix ?? 0);
}

export function ImageVulnerabilities({ uid, digest }: ImageProps) {
  const [{ severity, state, package: name = "", fixable = "" }] = useSearchState();
  const wanted = enumValue(severity) as VulnerabilitySeverity;
  const filter = {
    severities: wanted === 0 ? [] : [wanted],
    state: enumValue(state) as PackageVulnerability_State,
    packageNames: name === "" ? [] : [name],
    fixable: fixable !== "",
  };
  return (
    <List
      title="Vulnerabilities"
      method={VulnerabilitiesService.method.listImageVulnerabilities}
      request={{ uid, digest, ...filter }}
      itemsOf={({ vulnerabilities }) => vulnerabilities}
      schema={ImageVulnerabilitySchema}
      columns={columns}
      keyOf={({ vulnerability, imageDigest }) =>
        [
          imageDigest,
          vulnerability?.vulnerabilityId,
          vulnerability?.packageType,
          vulnerability?.packageName,
          vulnerability?.packageVersion,
        ].join(" ")
      }
      filters={[
        { kind: "choice", id: "severity", title: "Severity", choices: enumChoices(VulnerabilitySeveritySchema) },
        { kind: "choice", id: "state", title: "State", choices: enumChoices(PackageVulnerability_StateSchema) },
        { kind: "text", id: "package", title: "Package", placeholder: "The whole name" },
        { kind: "choice", id: "fixable", title: "Fix", choices: [{ value: "yes", title: "A fixed version is known" }] },
      ]}
      empty={<Text>No vulnerability of this image is known. New advisories are compared with it in the background.</Text>}
    />
  );
}
