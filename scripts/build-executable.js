// Makes the single executable `holtd` of the built program and of a Node for Linux: it needs neither Node nor packages.
//
//   node scripts/build-executable.js [--dist dist] [--arch x64|arm64] [--node PROGRAM] OUTPUT
//
// The Node of another architecture is the program of the package node-linux-ARCH, in the version of package.json; name it
// with --node where npm cannot fetch it. Called by the name `holt`, by a link, the executable is the command line.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./build/paths.js";

/** Node looks for this in its own program. */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
/** e_machine of an ELF file. */
const MACHINES = { x64: 62, arm64: 183 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { dist: { type: "string" }, arch: { type: "string" }, node: { type: "string" } },
});
const [output] = positionals;
if (output === undefined) throw new Error("name the file of the executable");
const dist = resolve(values.dist ?? join(root, "dist"));
const arch = values.arch ?? process.arch;
// The Node that `npm ci` installs: the machine's own, which may run this script, can be older.
const projectNode = join(root, "node_modules/node/bin/node");
const scratch = mkdtempSync(join(tmpdir(), "holt-executable-"));
try {
  const blob = writeBlob();
  const node = values.node ?? nodeOf(arch);
  if (machineOf(node) !== MACHINES[arch]) throw new Error(`${node} is not a program of Linux on ${arch}`);
  mkdirSync(dirname(output), { recursive: true });
  copyFileSync(node, output);
  chmodSync(output, 0o755);
  await inject(output, blob);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Code and files of the build, as Node reads them from its own program. Source maps stay outside. */
function writeBlob() {
  const names = ["lib", "share", "gen"].flatMap((folder) => filesBelow(join(dist, folder))).filter((path) => !path.endsWith(".map"));
  const assets = Object.fromEntries(names.sort().map((path) => [relative(dist, path).replaceAll("\\", "/"), path]));
  const config = {
    main: join(root, "scripts/build/executable-main.cjs"),
    output: join(scratch, "holt.blob"),
    disableExperimentalSEAWarning: true,
    // Code that this machine compiled is of no use to another architecture, and differs between builds.
    useCodeCache: false,
    execArgv: ["--max-semi-space-size=8", "--heap-growing-percent=75", "--expose-gc"],
    assets,
  };
  writeFileSync(join(scratch, "sea.json"), JSON.stringify(config));
  execFileSync(projectNode, ["--experimental-sea-config", join(scratch, "sea.json")], { stdio: ["ignore", "ignore", "inherit"] });
  return config.output;
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

function nodeOf(arch) {
  if (arch === process.arch && process.platform === "linux") return projectNode;
  const { node } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).devDependencies;
  execFileSync("npm", ["pack", "--silent", "--pack-destination", scratch, `node-linux-${arch}@${node}`], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  execFileSync("tar", ["-xzf", join(scratch, `node-linux-${arch}-${node}.tgz`), "-C", scratch]);
  return join(scratch, "package/bin/node");
}

/** Undefined for a file that is not ELF. */
function machineOf(program) {
  const header = Buffer.alloc(20);
  const file = openSync(program, "r");
  try {
    readSync(file, header);
  } finally {
    closeSync(file);
  }
  return header.readUInt32BE(0) === 0x7f454c46 ? header.readUInt16LE(18) : undefined;
}

/** The section has the name that Node looks for. */
async function inject(program, blob) {
  const { inject } = createRequire(import.meta.url)("postject");
  // Injecting prints warnings about sections of Node that it does not need.
  const { log, warn } = console;
  console.log = console.warn = () => {};
  try {
    await inject(program, "NODE_SEA_BLOB", readFileSync(blob), { sentinelFuse: FUSE });
  } finally {
    Object.assign(console, { log, warn });
  }
}
