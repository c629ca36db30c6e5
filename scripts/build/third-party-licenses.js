// Collects the licenses of the packages that a build contains, which most of them ask for.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./paths.js";
import { shippedPackages } from "./shipped-packages.js";

/** @returns one text with the name, the version and the license of each package */
export function thirdPartyLicenses() {
  return shippedPackages()
    .map(licenseOf)
    .join(`\n${"=".repeat(80)}\n\n`);
}

function licenseOf({ place, name, version }) {
  const folder = join(root, place);
  const { license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
  const parts = [`${name} ${version} (${license ?? "no license named"})`, ...texts];
  return `${parts.join("\n\n")}\n`;
}
