// Holds the server's imports against ARCHITECTURE.md: a file imports only from a lower rung or its own folder, and what
// belongs in one place is imported nowhere else. Prints each import that does not, with the reason; exit status 1 if there is any.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const src = join(root, "packages/server/src");
const rungs = {
  lib: 1,
  db: 2,
  outbound: 2,
  auth: 3,
  blobs: 3,
  events: 3,
  call: 4,
  resource: 5,
  registry: 5.5,
  scim: 5.5,
  libraries: 5.5,
  advisories: 5.5,
  "sign-in": 5.5,
  services: 6,
  transport: 7,
};
const COMPOSITION = 8;

/** Modules that only one folder may import. */
const owned = [
  {
    module: /^node:(http|http2|https|net|tls)$/,
    folders: ["transport"],
    except: ["config.ts", "outbound/address.ts", "outbound/connector.ts"],
    why: "only transport/ speaks HTTP to clients; outbound calls have one client",
  },
  { module: /^@connectrpc\//, folders: ["transport"], except: [], why: "only transport/ knows Connect" },
  { module: /^(pg|node:sqlite)$/, folders: ["db"], except: [], why: "only db/ knows the database drivers" },
  { module: /^undici$/, folders: ["outbound"], except: [], why: "outbound calls have one client" },
  { module: /^scimmy$/, folders: ["scim"], except: [], why: "only scim/schema.ts knows the library" },
  { module: /^openid-client$/, folders: ["sign-in"], except: [], why: "only sign-in/upstream.ts speaks to providers" },
  { module: /^pino$/, folders: ["lib"], except: [], why: "only lib/log.ts makes logs" },
];

const problems = [];
for (const file of sources(src)) {
  const text = readFileSync(join(src, file), "utf8");
  if (/\bprocess\.env\b/.test(text) && file !== "config.ts") problems.push(`${file}: reads process.env; settings belong in config.ts`);
  for (const [, specifier] of text.matchAll(/^\s*(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)"/gm)) check(file, specifier);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
console.log("The imports follow ARCHITECTURE.md.");

function* sources(folder) {
  for (const entry of readdirSync(folder, { recursive: true })) {
    if (entry.endsWith(".ts") && !entry.endsWith(".test.ts")) yield entry.split(sep).join("/");
  }
}

function check(file, specifier) {
  for (const { module, folders, except, why } of owned) {
    if (module.test(specifier) && !folders.includes(folderOf(file)) && !except.includes(file))
      problems.push(`${file}: imports ${specifier}: ${why}`);
  }
  if (specifier.startsWith("."))
    checkRung(
      file,
      relative(src, resolve(src, dirname(file), specifier))
        .split(sep)
        .join("/"),
      specifier,
    );
}

function checkRung(file, target, specifier) {
  const [from, to] = [folderOf(file), folderOf(target)];
  if (target.startsWith(".."))
    return void (target.endsWith("package.json") || problems.push(`${file}: imports ${specifier}: outside the server`));
  if (target === "services/index.ts" && file !== "app.ts") problems.push(`${file}: only app.ts imports services/index.ts`);
  if (from === "services" && to === "services") return checkDomains(file, target);
  if (from !== to && rungOf(to) >= rungOf(from))
    problems.push(`${file}: imports ${specifier}: ${to || "the composition root"} is not below ${from || "the composition root"}`);
}

/** Domains ask each other in SQL or through auth/, never by importing. */
function checkDomains(file, target) {
  const [from, to] = [file.split("/"), target.split("/")];
  if (to.length > 2 && from.length > 2 && from[1] !== to[1]) problems.push(`${file}: services/${from[1]} imports services/${to[1]}`);
}

function folderOf(path) {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : "";
}

function rungOf(folder) {
  return folder === "" ? COMPOSITION : (rungs[folder] ?? Number.NaN);
}
