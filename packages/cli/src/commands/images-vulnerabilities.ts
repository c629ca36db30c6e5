/** holt images vulnerabilities: the known vulnerabilities of an image. */
import { chosen } from "../command/chosen.ts";
import type { Verb } from "../command/verb.ts";
import { findImage, IMAGE_HELP, pathOfImage } from "../images/image-reference.ts";
import { listOptions, showList } from "../operations/call-list.ts";
import { fieldOf, type Row } from "../output/output.ts";

const SEVERITIES = ["critical", "high", "medium", "low", "negligible", "unknown"];

const columns = [
  { title: "SEVERITY", value: (row: Row) => shortName(row, "severity") },
  { title: "ID", value: (row: Row) => fieldOf(row, "vulnerability.vulnerabilityId") },
  { title: "PACKAGE", value: (row: Row) => fieldOf(row, "vulnerability.packageName") },
  { title: "VERSION", value: (row: Row) => fieldOf(row, "vulnerability.packageVersion") },
  { title: "FIXED IN", value: (row: Row) => fieldOf(row, "vulnerability.fixedVersions") },
  "platform",
  { title: "TYPE", value: (row: Row) => fieldOf(row, "vulnerability.packageType") },
  { title: "STATE", value: (row: Row) => shortName(row, "state") },
  "imageDigest",
];

export const verb: Verb = {
  path: "images vulnerabilities",
  summary: "List the open vulnerabilities of an image, the most severe first.",
  description: "For an index, the vulnerabilities of all platforms are listed.",
  examples: ["holt images vulnerabilities my-org/team-a/app:1.0 --severity critical --severity high --fixable"],
  arguments: [{ name: "image", kind: "repo", help: IMAGE_HELP }],
  options: [
    { name: "severity", value: "SEVERITY", repeated: true, values: SEVERITIES, help: "only this severity" },
    { name: "fixable", help: "only those that a known version fixes" },
    { name: "suppressed", help: "also those that do not count, because of a VEX statement" },
    { name: "package", value: "NAME", repeated: true, help: "only those of the package, or of packages that are built from it" },
    { name: "id", value: "ID", repeated: true, help: "only those with this id or alias, such as CVE-2026-0001" },
    ...listOptions,
  ],
  async run(invocation) {
    const { argument, list, isSet } = invocation;
    const severities = chosen("severity", list("severity"), SEVERITIES);
    const path = `${pathOfImage(await findImage(argument("image"), invocation))}/vulnerabilities`;
    const query = {
      severities: severities.map((name) => `VULNERABILITY_SEVERITY_${name.toUpperCase()}`),
      vulnerability_ids: list("id"),
      package_names: list("package"),
      ...(isSet("fixable") && { fixable: "true" }),
      ...(!isSet("suppressed") && { state: "STATE_OPEN" }),
    };
    const view = { columns, narrow: 6, name: (row: Row) => String(fieldOf(row, "vulnerability.vulnerabilityId")) };
    let isComplete = true;
    const onPage = (_rows: readonly Row[], answer: Row) => {
      isComplete = answer.complete === true;
    };
    await showList({ request: { method: "GET", path, query }, items: "vulnerabilities", view, onPage }, invocation);
    if (!isComplete) process.stderr.write("The server is still reading and comparing the packages; list again later.\n");
  },
};

function shortName(row: Row, field: string): string {
  return String(fieldOf(row, `vulnerability.${field}`) ?? "")
    .replace(/^(VULNERABILITY_SEVERITY|STATE)_/, "")
    .toLowerCase();
}
