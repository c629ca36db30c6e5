// Makes the files of a release from dist: archive, executables, Debian packages, bills of materials, and their checksums.
//
//   npm run build && node scripts/release.js [--arch x64,arm64] [--dist dist] [FOLDER]     FOLDER is release by default
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { root, sourceDate, version } from "./build/paths.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { arch: { type: "string", default: "x64,arm64" }, dist: { type: "string", default: join(root, "dist") } },
});
const folder = resolve(positionals[0] ?? join(root, "release"));
const dist = resolve(values.dist);

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
archive(join(folder, `holt-${version}.tar.gz`));
for (const arch of values.arch.split(",").filter((name) => name !== "")) {
  const holtd = join(folder, `holtd-${version}-linux-${arch}`);
  runScript("build-executable.js", ["--dist", dist, "--arch", arch, holtd]);
  runScript("build-deb.js", ["--dist", dist, "--arch", arch, "--program", holtd, folder]);
}
for (const name of ["holt.spdx.json", "holt.cdx.json"])
  copyFileSync(join(dist, name), join(folder, name.replace("holt.", `holt-${version}.`)));
writeFileSync(join(folder, "SHA256SUMS"), readdirSync(folder).sort().map(checksum).join(""));

/** Nothing in it depends on the machine: order, owners, times and permissions are fixed. */
function archive(path) {
  const fixed = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", `--mtime=@${sourceDate()}`];
  const renamed = ["--exclude=.cache", `--transform=s,^${basename(dist)},holt-${version},`];
  const tar = execFileSync("tar", ["-c", ...fixed, ...renamed, "-C", dirname(dist), basename(dist)], { maxBuffer: 1 << 30 });
  writeFileSync(path, execFileSync("gzip", ["-9n"], { input: tar, maxBuffer: 1 << 30 }));
}

function runScript(name, args) {
  execFileSync(process.execPath, [join(root, "scripts", name), ...args], { stdio: "inherit" });
}

/** As `sha256sum -c` reads it. */
function checksum(name) {
  return `${createHash("sha256")
    .update(readFileSync(join(folder, name)))
    .digest("hex")}  ${name}\n`;
}
