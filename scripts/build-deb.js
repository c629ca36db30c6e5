// Makes the Debian package of a single executable, with dpkg-deb.
//
//   node scripts/build-deb.js --program FILE [--dist dist] [--arch x64|arm64] FOLDER
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { root, sourceDate, version } from "./build/paths.js";

const ARCHITECTURES = { x64: "amd64", arm64: "arm64" };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { program: { type: "string" }, dist: { type: "string" }, arch: { type: "string", default: process.arch } },
});
const [folder] = positionals;
if (folder === undefined || values.program === undefined) throw new Error("name the program and the folder of the package");
const architecture = ARCHITECTURES[values.arch];
const dist = resolve(values.dist ?? join(root, "dist"));
const tree = mkdtempSync(join(tmpdir(), "holt-deb-"));
try {
  chmodSync(tree, 0o755);
  fill();
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(sourceDate()) };
  const output = join(folder, `holt_${version}_${architecture}.deb`);
  execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "--build", tree, output], { env, stdio: ["ignore", "ignore", "inherit"] });
} finally {
  rmSync(tree, { recursive: true, force: true });
}

function fill() {
  place(values.program, "usr/bin/holtd", 0o755);
  for (const name of ["holt", "docker-credential-holt"]) symlinkSync("holtd", join(tree, "usr/bin", name));
  place(join(root, "deploy/systemd/holt.service"), "lib/systemd/system/holt.service");
  place(join(root, "deploy/debian/config.yaml"), "etc/holt/config.yaml");
  place(join(root, "LICENSE"), "usr/share/doc/holt/copyright");
  place(join(dist, "THIRD-PARTY-LICENSES.txt"), "usr/share/doc/holt/THIRD-PARTY-LICENSES.txt");
  for (const name of ["holt.spdx.json", "holt.cdx.json"]) place(join(dist, name), `usr/share/doc/holt/${name}`);
  writeFileSync(join(tree, "usr/share/doc/holt/changelog.gz"), gzipSync(readFileSync(join(root, "CHANGELOG.md"))), { mode: 0o644 });
  cpSync(join(dist, "gen/man"), join(tree, "usr/share/man/man1"), { recursive: true });
  for (const name of ["postinst", "prerm", "postrm"]) place(join(root, "deploy/debian", name), `DEBIAN/${name}`, 0o755);
  writeFileSync(join(tree, "DEBIAN/conffiles"), "/etc/holt/config.yaml\n");
  writeFileSync(join(tree, "DEBIAN/control"), control());
  execFileSync("chmod", ["-R", "u=rwX,go=rX", tree]);
}

function place(source, name, mode = 0o644) {
  mkdirSync(dirname(join(tree, name)), { recursive: true });
  copyFileSync(source, join(tree, name));
  chmodSync(join(tree, name), mode);
}

function control() {
  return `Package: holt
Version: ${version}
Architecture: ${architecture}
Maintainer: The Holt authors <holt@example.com>
Depends: libc6 (>= 2.28), libstdc++6, libgcc-s1, passwd
Section: net
Priority: optional
Description: self-hosted platform-management server
 A tree of groups with access management, a container registry, libraries,
 advisories and events, over REST and gRPC. The package has the server holtd,
 the command line holt and a systemd unit.
`;
}
