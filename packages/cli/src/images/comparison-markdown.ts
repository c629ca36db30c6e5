/** The differences of two images as Markdown, for example for a comment on a change. Pure. */
import { shownText } from "../output/cell.ts";
import type { Comparison, Difference } from "./compare-images.ts";

export function comparisonMarkdown(title: string, { packages, vulnerabilities, ...platforms }: Comparison): string {
  const parts = [
    `## ${title}`,
    ...lineOf("Added platforms", platforms.addedPlatforms),
    ...lineOf("Removed platforms", platforms.removedPlatforms),
    "### Packages",
    table(["Platform", "Type", "Package", "Before", "After"], packages, (row) => [row.platform, row.type, row.name, ...versionsOf(row)]),
    "### Vulnerabilities",
    table(["Change", "Severity", "Id", "Platform", "Type", "Package", "Versions"], vulnerabilities, (row) => [
      ...[row.change, row.severity ?? "", row.id ?? "", row.platform, row.type, row.name],
      versionsOf(row).join(""),
    ]),
  ];
  return `${parts.join("\n\n")}\n`;
}

function versionsOf({ before, after }: Difference): [before: string, after: string] {
  return [before.join(", "), after.join(", ")];
}

function lineOf(label: string, platforms: readonly string[]): string[] {
  return platforms.length === 0 ? [] : [`${label}: ${platforms.map(code).join(", ")}`];
}

function table(titles: readonly string[], rows: readonly Difference[], cellsOf: (row: Difference) => string[]): string {
  if (rows.length === 0) return "No differences.";
  const lines = [titles, titles.map(() => "---"), ...rows.map((row) => cellsOf(row).map(code))];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** As code, so that the names of packages are neither markup nor mentions of people. */
export function code(text: string): string {
  const shown = shownText(text).replaceAll("`", "'").replaceAll("|", "\\|");
  return shown === "" ? "" : `\`${shown}\``;
}
