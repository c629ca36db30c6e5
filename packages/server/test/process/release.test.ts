/** Tests the files of a release: they unpack and install into running programs, and two releases of one commit are the same. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, copyFile, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { builtProgram, removeBuiltProgram, runBuilt, runScript, startBuilt } from "../harness/built-program.ts";
import { type DebianRoot, ENVIRONMENT, openDebianRoot } from "../harness/debian-root.ts";
import { freePort } from "../harness/free-port.ts";
import { hasProgram } from "../harness/has-program.ts";
import { startProgram, temporaryFolder, untilReady } from "../harness/holtd.ts";

const run = promisify(execFile);
/** A commit during the tests must not change the times in the files. */
const DATE = { SOURCE_DATE_EPOCH: "1700000000" };
const missing = ["dpkg-deb", "tar", "gzip", "sha256sum"].find((name) => !hasProgram(name));
const skip = process.platform !== "linux" ? "made on Linux only" : missing === undefined ? false : `${missing} is not installed`;

describe("a release", { skip }, () => {
  let release = "";
  let dist = "";
  before(async () => {
    const folder = await builtProgram();
    dist = join(folder, "dist");
    release = join(folder, "release");
    await runScript("release.js", ["--arch", process.arch, "--dist", dist, release], DATE);
  });
  after(removeBuiltProgram);

  test("the checksums of a release cover all of its files", async () => {
    await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: release });
    const listed = (await readFile(join(release, "SHA256SUMS"), "utf8")).match(/\S+$/gm) ?? [];
    const files = (await readdir(release)).filter((name) => name !== "SHA256SUMS");
    assert.deepEqual(listed.sort(), files.sort());
    for (const end of [".tar.gz", ".deb", ".spdx.json", ".cdx.json"])
      assert.ok(
        files.some((name) => name.endsWith(end)),
        end,
      );
  });

  test("two releases of one commit have the same bytes", async () => {
    await using folder = await temporaryFolder();
    await runScript("release.js", ["--arch", process.arch, "--dist", dist, join(folder.path, "again")], DATE);
    const sums = (path: string) => readFile(join(path, "SHA256SUMS"), "utf8");
    assert.equal(await sums(join(folder.path, "again")), await sums(release));
  });

  test("the archive unpacks into a program that runs", async () => {
    await using folder = await temporaryFolder();
    const [name = ""] = (await readdir(release)).filter((file) => file.endsWith(".tar.gz"));
    await run("tar", ["-xzf", join(release, name), "-C", folder.path]);
    const program = join(folder.path, name.replace(".tar.gz", ""), "bin/holtd");
    await using server = await startBuilt(program, join(folder.path, "data"));
    assert.equal((await fetch(`${server.baseUrl}/console/`)).status, 200);
    await runBuilt(program, ["health"], server.env);
  });

  test("the Debian package has the program, its unit, its settings and its scripts, with the owners and modes that dpkg expects", async () => {
    await using folder = await temporaryFolder();
    const [name = ""] = (await readdir(release)).filter((file) => file.endsWith(".deb"));
    const deb = join(release, name);
    const { stdout: control } = await run("dpkg-deb", ["--info", deb]);
    assert.match(control, /Package: holt\n/);
    const { stdout: contents } = await run("dpkg-deb", ["--contents", deb]);
    for (const line of contents.trim().split("\n")) assert.match(line, /^(-rw-r--r--|[-d]rwxr-xr-x|lrwxrwxrwx) root\/root /);
    await run("dpkg-deb", ["--raw-extract", deb, folder.path]);
    for (const script of ["postinst", "prerm", "postrm"]) await run("sh", ["-n", join(folder.path, "DEBIAN", script)]);
    assert.equal((await stat(join(folder.path, "DEBIAN/postinst"))).mode & 0o777, 0o755);
    assert.equal(await readFile(join(folder.path, "DEBIAN/conffiles"), "utf8"), "/etc/holt/config.yaml\n");
    const config = { HOLT_CONFIG: join(folder.path, "etc/holt/config.yaml") };
    assert.equal(await runBuilt(join(folder.path, "usr/bin/holtd"), ["config", "check"], config), "The settings are valid.\n");
    assert.match(await runBuilt(join(folder.path, "usr/bin/holt"), ["--version"], {}), /^\d+\.\d+\.\d+\n$/);
  });

  test("dpkg installs, upgrades, removes and purges the package, and the installed server starts", async (context) => {
    await using debian = process.getuid?.() === 0 ? await openDebianRoot() : undefined;
    if (debian === undefined) return context.skip("needs root, mounts, and a Debian: this machine, or the folder HOLT_TEST_CHROOT");
    const [name = ""] = (await readdir(release)).filter((file) => file.endsWith(".deb"));
    await copyFile(join(release, name), join(debian.path, "tmp/holt.deb"));
    await debian.run("dpkg", "-i", "/tmp/holt.deb");
    assert.match(await debian.run("id", "holt"), /\(holt\)/);
    assert.equal(await debian.run("stat", "-c", "%a %U:%G", "/etc/holt/config.yaml"), "640 root:holt\n");
    assert.match(await debian.run("holt", "--version"), /^\d+\.\d+\.\d+\n$/);
    assert.equal(await debian.run("holtd", "config", "check"), "The settings are valid.\n");
    await startInstalled(debian);
    const settings = join(debian.path, "etc/holt/config.yaml");
    await appendFile(settings, "# changed\n");
    await debian.run("dpkg", "--force-confold", "-i", "/tmp/holt.deb");
    await debian.run("dpkg", "-r", "holt");
    assert.match(await readFile(settings, "utf8"), /# changed/);
    assert.equal(await debian.run("dpkg", "--audit", "holt"), "");
    await debian.run("dpkg", "-P", "holt");
    assert.ok(!existsSync(settings));
    assert.ok(existsSync(join(debian.path, "var/lib/holt/holt.db")));
  });

  test("systemd accepts the unit of the Debian package", {
    skip: hasProgram("systemd-analyze") ? false : "systemd is not installed",
  }, async () => {
    await using folder = await temporaryFolder();
    const [name = ""] = (await readdir(release)).filter((file) => file.endsWith(".deb"));
    await run("dpkg-deb", ["--extract", join(release, name), folder.path]);
    const unit = join(folder.path, "lib/systemd/system/holt.service");
    assert.ok(existsSync(unit));
    const text = await readFile(unit, "utf8");
    assert.match(text, /^ExecStart=\/usr\/bin\/holtd$/m);
    // The program of the unit is not installed on this machine; systemd-analyze reports only problems of the unit itself otherwise.
    const { stderr } = await run("systemd-analyze", ["verify", "--man=no", "--recursive-errors=no", unit]).catch(
      (error: { stderr: string }) => error,
    );
    const problems = stderr
      .split("\n")
      .filter((line) => line.includes("holt") && !/Command \/usr\/bin\/holtd is not executable/.test(line));
    assert.deepEqual(problems, []);
  });
});

/** Starts the server as its unit does, which also creates its folder. */
async function startInstalled(debian: DebianRoot): Promise<void> {
  await debian.run("install", "-d", "-m", "0700", "-o", "holt", "-g", "holt", "/var/lib/holt");
  const listen = `127.0.0.1:${await freePort()}`;
  const env = { ...ENVIRONMENT, HOLT_CONFIG: "/etc/holt/config.yaml", HOLT_DATA_DIR: "/var/lib/holt", HOLT_LISTEN: listen };
  const server = startProgram(...debian.commandOf(["/usr/bin/holtd"], ["--userspec=holt:holt"]), env);
  try {
    await untilReady(server);
    assert.equal((await fetch(`http://${listen}/console/`)).status, 200);
  } finally {
    server.kill("SIGTERM");
  }
  assert.equal((await server.ended).code, 0);
}
