// Writes the software bills of materials of a release, in SPDX and in CycloneDX, as npm makes them from a lock file.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, sourceDate, version } from "./paths.js";
import { shippedPackages } from "./shipped-packages.js";

export function writeSboms(folder) {
  const scratch = mkdtempSync(join(tmpdir(), "holt-sbom-"));
  try {
    const time = new Date(sourceDate() * 1000).toISOString();
    const project = writeShippedProject(scratch);
    writeJson(join(folder, "holt.spdx.json"), reproducibleSpdx(sbomOfNpm(project, "spdx"), time));
    writeJson(join(folder, "holt.cdx.json"), reproducibleCycloneDx(sbomOfNpm(project, "cyclonedx"), time));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * Writes a project that has only what is shipped: with `--omit=dev`, npm leaves out packages that the development also
 * needs. npm names the program after the folder.
 */
function writeShippedProject(scratch) {
  const project = join(scratch, "holt");
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const { description, license } = packages[""];
  const workspaces = Object.entries(packages).filter(([place]) => /^packages\/[^/]+$/.test(place));
  const dependencies = Object.fromEntries(
    workspaces.flatMap(([, entry]) => Object.entries(entry.dependencies ?? {}).filter(([name]) => !name.startsWith("@holt/"))),
  );
  const manifest = { name: "holt", version, description, license, dependencies };
  const shipped = Object.fromEntries(shippedPackages().map(({ place }) => [place, packages[place]]));
  mkdirSync(project);
  writeJson(join(project, "package.json"), manifest);
  writeJson(join(project, "package-lock.json"), { name: "holt", version, lockfileVersion: 3, packages: { "": manifest, ...shipped } });
  return project;
}

function sbomOfNpm(project, format) {
  const args = ["sbom", "--package-lock-only", "--sbom-type=application", `--sbom-format=${format}`];
  const text = execFileSync("npm", args, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 26 });
  return JSON.parse(text);
}

/** npm writes the present time and a random name, with which two builds of one commit would differ. */
function reproducibleSpdx(sbom, time) {
  sbom.creationInfo.created = time;
  sbom.documentNamespace = `http://spdx.org/spdxdocs/holt-${version}-${digestOf(sbom.packages).slice(0, 32)}`;
  return sbom;
}

function reproducibleCycloneDx(sbom, time) {
  sbom.metadata.timestamp = time;
  const hex = digestOf(sbom.components);
  sbom.serialNumber = `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  return sbom;
}

function digestOf(value) {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
