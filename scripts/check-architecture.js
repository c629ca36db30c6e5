// Fails when an import of packages/server/src or packages/cli/src breaks a rule of architecture.js, and prints each with the reason.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { commandLine, composedFiles, folders, lightFiles, ownedNames, ownedPackages, publicOfIam } from "./architecture.js";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const src = join(root, "packages/server/src");
const { dependencies } = JSON.parse(readFileSync(join(root, "packages/server/package.json"), "utf8"));
const byFolder = new Map(folders.map((entry) => [entry.folder, entry]));

/** Imports and re-exports, imports for their effect, dynamic imports, and modules of worker threads. */
const VALUE_IMPORTS = [
  /^\s*(?:import|export)\b(?!\s+type\b)[^;"]*?\bfrom\s+"([^"]+)"/gm,
  /^\s*import\s+"([^"]+)"/gm,
  /\bimport\(\s*"([^"]+)"/g,
  /\bnew URL\(\s*"(\.[^"]+)"/g,
];
const TYPE_IMPORTS = [/^\s*(?:import|export)\s+type\b[^;"]*?\bfrom\s+"([^"]+)"/gm];

const problems = [];
for (const file of sources(src)) {
  const text = readFileSync(join(src, file), "utf8");
  if (folderOf(file) === undefined) {
    problems.push(`${file}: scripts/architecture.js does not list its folder`);
    continue;
  }
  if (/\bprocess\.env\b/.test(text) && file !== "config.ts")
    problems.push(`${file}: reads process.env; declare a setting in settings/ and read it from the Config`);
  for (const { names, importers, why } of ownedNames) {
    const found = names.filter((name) => new RegExp(`\\bimport\\s*\\{[^}]*\\b${name}\\b`).test(text));
    if (found.length > 0 && !importers.includes(file)) problems.push(`${file}: imports ${found.join(", ")}: ${why}`);
  }
  for (const { specifier, isType } of importsIn(text)) {
    const why = specifier.startsWith(".")
      ? (problemOfFile(file, targetOf(file, specifier)) ?? problemOfLoading(file, targetOf(file, specifier), isType))
      : problemOfPackage(file, specifier, isType);
    if (why !== undefined) problems.push(`${file}: imports ${specifier}: ${why}`);
  }
}
problems.push(...problemsOfCommandLine(join(root, "packages/cli/src")));
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
console.log("The imports follow ARCHITECTURE.md.");

function* sources(folder) {
  for (const entry of readdirSync(folder, { recursive: true })) {
    if (entry.endsWith(".ts") && !entry.endsWith(".test.ts")) yield entry.split(sep).join("/");
  }
}

function importsIn(text) {
  const found = (patterns, isType) =>
    patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, specifier]) => ({ specifier, isType })));
  return [...found(VALUE_IMPORTS, false), ...found(TYPE_IMPORTS, true)];
}

function targetOf(file, specifier) {
  return relative(src, resolve(src, dirname(file), specifier))
    .split(sep)
    .join("/");
}

/** The entry of the longest listed folder that holds `path`; undefined where none does. */
function folderOf(path) {
  const parts = path.split("/").slice(0, -1);
  if (parts.length === 0) return byFolder.get("");
  for (let length = parts.length; length > 0; length--) {
    const entry = byFolder.get(parts.slice(0, length).join("/"));
    // A folder with listed subfolders has no others.
    if (entry !== undefined) return length < parts.length && hasSubfolders(entry) ? undefined : entry;
  }
  return undefined;
}

function hasSubfolders({ folder }) {
  return folders.some((other) => other.folder.startsWith(`${folder}/`));
}

function problemOfFile(file, target) {
  if (target.startsWith("..")) return target.endsWith("package.json") ? undefined : "outside of src";
  if (target.endsWith(".test.ts")) return "src imports no tests";
  if (composedFiles.files.includes(target) && !composedFiles.importers.includes(file)) return composedFiles.why;
  const from = folderOf(file);
  const to = folderOf(target);
  if (to === undefined) return "scripts/architecture.js does not list its folder";
  if (from === to || from.kind === "composition") return undefined;
  if (from.kind === "platform" && to.kind === "domain") return "the platform knows no domain";
  if (from.kind === "domain" && to.kind === "domain") return problemBetweenDomains(to, target);
  if (to.rung >= from.rung) return `${to.folder || "the composition root"} is not below ${from.folder || "the composition root"}`;
  return undefined;
}

function problemOfLoading(file, target, isType) {
  const isLight = isType || !lightFiles.files.includes(file) || lightFiles.imports.test(target);
  return isLight ? undefined : lightFiles.why;
}

function problemBetweenDomains(to, target) {
  if (to.folder !== "iam") return "a domain imports no other domain than iam";
  const isPublic = publicOfIam.some((path) => (path.endsWith("/") ? target.startsWith(path) : target === path));
  return isPublic ? undefined : "not one of iam's public files";
}

function problemOfPackage(file, specifier, isType) {
  const owner = ownedPackages.find(({ packages }) => packages.test(specifier));
  if (owner !== undefined && !isType && !owner.folders.includes(folderOf(file).folder) && !owner.except.includes(file)) return owner.why;
  if (specifier.startsWith("node:")) return undefined;
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  return name in dependencies ? undefined : "not a dependency of packages/server (development dependencies are for tests)";
}

function problemsOfCommandLine(folder) {
  return [...sources(folder)].flatMap((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    const found = importsIn(text).flatMap(({ specifier, isType }) => {
      const why = problemOfCommandLine(file, specifier, isType);
      return why === undefined ? [] : [`packages/cli/src/${file}: imports ${specifier}: ${why}`];
    });
    const calls = /(?<![.\w])fetch\(/.test(text) ? [`packages/cli/src/${file}: calls fetch: @holt/client has the HTTP code`] : [];
    return [...found, ...calls, ...(file === commandLine.startFile ? problemsOfStart(text) : [])];
  });
}

function problemOfCommandLine(file, specifier, isType) {
  if (specifier.startsWith(".")) {
    const target = relative(root, resolve(root, "packages/cli/src", dirname(file), specifier))
      .split(sep)
      .join("/");
    return target.startsWith("packages/cli/") ? undefined : "outside of packages/cli; for the contract use @holt/client";
  }
  const rule = commandLine.packages.find(({ packages }) => packages.test(specifier));
  if (rule === undefined) return "scripts/architecture.js does not list it for the command line";
  return isType || rule.files === undefined || rule.files.test(file) ? undefined : rule.why;
}

function problemsOfStart(text) {
  return [...text.matchAll(/^import\s+(?!type)[^;]*?from\s+"([^"]+)"/gm)]
    .filter(([, specifier]) => !commandLine.startImports.test(specifier))
    .map(([, specifier]) => `packages/cli/src/main.ts: imports ${specifier} statically, which every start would load`);
}
