/** Makes a base image of programs and libraries of this machine, for tests of the Containerfile where no registry can be reached. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { findProgram } from "./has-program.ts";
import { temporaryFolder } from "./holtd.ts";

const run = promisify(execFile);
/** The instructions of the Containerfile and the tests need them. */
const PROGRAMS = ["sh", "chmod", "ln", "install", "id", "true"];

/** @param name of the image */
export async function importBaseImage(name: string): Promise<void> {
  await using folder = await temporaryFolder();
  const tree = join(folder.path, "root");
  await mkdir(join(tree, "usr/bin"), { recursive: true });
  await symlink("usr/bin", join(tree, "bin"));
  const programs = PROGRAMS.map((program) => findProgram(program) ?? program);
  for (const [index, path] of programs.entries()) await copyFile(path, join(tree, "usr/bin", PROGRAMS[index] ?? ""));
  // The executable needs the libraries of Node.
  for (const library of await librariesOf([...programs, process.execPath])) {
    await mkdir(dirname(join(tree, library)), { recursive: true });
    await copyFile(library, join(tree, library));
  }
  const archive = join(folder.path, "root.tar");
  await run("tar", ["-C", tree, "--owner=0", "--group=0", "-cf", archive, "."]);
  await run("podman", ["import", archive, name]);
}

/** Paths of the shared libraries and of the dynamic linker. */
async function librariesOf(programs: readonly string[]): Promise<Set<string>> {
  const { stdout } = await run("ldd", [...programs]);
  return new Set(Array.from(stdout.matchAll(/(\/\S+) \(0x/g), ([, path = ""]) => path));
}
