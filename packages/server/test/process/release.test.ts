/** Tests the files of a release: they unpack and install into running programs, and two releases of one commit are the same. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, copyFile, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { builtProgram, removeBuiltProgram, runBuilt, runScript, startBuilt } from "../harness/built-program.ts";
import { hasProgram } from "../harness/has-program.ts";
import { temporaryFolder } from "../harness/holtd.ts";

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

  test("dpkg installs, upgrades, removes and purges the package in a chroot", async (context) => {
    const system = process.env.HOLT_TEST_CHROOT;
    if (system === undefined || process.getuid?.() !== 0)
      return context.skip("needs root, and in HOLT_TEST_CHROOT the folder of a Debian made by debootstrap");
    await using folder = await temporaryFolder();
    const chroot = join(folder.path, "debian");
    await run("cp", ["-a", system, chroot]);
    const [name = ""] = (await readdir(release)).filter((file) => file.endsWith(".deb"));
    await copyFile(join(release, name), join(chroot, "tmp/holt.deb"));
    const within = async (...command: string[]) =>
      (await run("chroot", [chroot, ...command], { env: { PATH: "/usr/sbin:/usr/bin" } })).stdout;
    await within("dpkg", "-i", "/tmp/holt.deb");
    assert.match(await within("id", "holt"), /\(holt\)/);
    assert.equal(await within("stat", "-c", "%a %U:%G", "/etc/holt/config.yaml"), "640 root:holt\n");
    assert.match(await within("holt", "--version"), /^\d+\.\d+\.\d+\n$/);
    assert.equal(await within("holtd", "config", "check"), "The settings are valid.\n");
    const settings = join(chroot, "etc/holt/config.yaml");
    await appendFile(settings, "# changed\n");
    await within("dpkg", "--force-confold", "-i", "/tmp/holt.deb");
    await within("dpkg", "-r", "holt");
    assert.match(await readFile(settings, "utf8"), /# changed/);
    assert.equal(await within("dpkg", "--audit"), "");
    await within("dpkg", "-P", "holt");
    assert.ok(!existsSync(settings));
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
