/** The program holtd: parses the arguments and runs the server or a command. */
import { parseArgs } from "node:util";
import packageJson from "../package.json" with { type: "json" };
import { optionProblemOf } from "./cli/option-problem.ts";
import { ConfigError, loadConfig } from "./config.ts";

const USAGE = `Usage: holtd [command]

  serve         run the server (default)
  token         print an access token of the bootstrap owner for this data
                folder or database; with --link, a link that signs the bootstrap
                owner in to the console, once, within ten minutes
  keys rotate   create a new signing key; the previous one stays published for
                24 hours
  gc            remove content that no image needs; with --dry-run, only print
                it
  adopt-blobs   make the folder or bucket of the settings that of the database,
                if the right one is lost
  blobs migrate copy the content of images and libraries from
                HOLT_BLOBS_FALLBACK to HOLT_BLOBS while servers run
  import libraries --ecosystem python|java [--group UID|NAME] DIR
                publish the packages of a folder; --help has details
  import advisories [--group UID|NAME] PATH...
                import advisories of packages from files, folders and archives;
                --help has details
  import vulnerabilities PATH...
                import metadata of vulnerabilities; --help has details
  audit verify [ORG]
                find the first audit entry that was changed, removed or
                inserted; "audit --help" has details
  audit export [ORG]
                print audit entries as JSON lines
  compact       rewrite the SQLite file of a stopped server without its unused
                pages
  recover ORG   bind the bootstrap owner as owner of an organization again, by
                its name or uid
  account-link [UID|EMAIL]
                print a link, good for an hour, by which the bootstrap owner or
                this person sets up a passkey or a password; with
                --reset-second-factor, without a code of the authenticator app
  config check  check the settings and the files that they name
  config print  print every setting with its source, without secrets
  doctor        check clock, disk, permissions, database, certificate, DNS and
                the way to the server; print one line per problem
  backup TARGET write a backup of the running server to a folder or
                s3://bucket/prefix; --help has details
  restore TARGET
                restore a backup into an empty place; --help has details
  export ORG FOLDER
                write one organization with everything in it into a folder;
                --help has details
  import org FOLDER
                import such an organization into another server; --help has
                details
  upgrade check say what a start of this program would do with the data, without
                doing it
  verify        compare the database with the blobs, and the counts with the
                rows; --help has details
  health        fail unless the server of these settings answers
  version       print the version
  help          print this; with a command, its help

Settings are environment variables, or lines of the YAML file that HOLT_CONFIG
names; docs/configuration.md documents them.`;

/** The whole usage would hide the message above it. */
const HINT = 'Run "holtd help" for the commands.';

/** `keys rotate --dry-run` must not rotate the key. */
const OWNER_OF_OPTION = { "dry-run": "gc", link: "token", "reset-second-factor": "account-link" } as const;

/** The options of all commands that do not parse their own. */
const OPTIONS = {
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
  "dry-run": { type: "boolean" },
  link: { type: "boolean" },
  "reset-second-factor": { type: "boolean" },
} as const;

/** Arguments of a command. */
interface Given {
  readonly argument: string;
  readonly isDryRun: boolean;
  readonly wantsLink: boolean;
  readonly resetsSecondFactor: boolean;
}

/** Each command loads only its own modules, since loading all of them costs most of a start. */
const commands: Readonly<Record<string, (given: Given) => Promise<void> | void>> = {
  serve: async () => {
    const config = await loadConfig();
    // Only several processes need the module, which takes 5 ms to load.
    const isSupervisor = config.processes > 1 && (await import("node:cluster")).default.isPrimary;
    if (isSupervisor) await (await import("./supervisor/supervise.ts")).supervise(config);
    else await (await import("./serve.ts")).serve(config);
  },
  token: async ({ wantsLink }) => {
    const { printLink, printToken } = await import("./cli/commands.ts");
    await (wantsLink ? printLink : printToken)(await loadConfig());
  },
  "keys rotate": async () => (await import("./cli/commands.ts")).rotateKeys(await loadConfig()),
  gc: async ({ isDryRun }) => {
    process.exitCode = await (await import("./cli/collect-garbage.ts")).collectGarbage(await loadConfig(), isDryRun);
  },
  "adopt-blobs": async () => (await import("./cli/commands.ts")).adoptBlobs(await loadConfig()),
  compact: async () => (await import("./cli/commands.ts")).compact(await loadConfig()),
  recover: async ({ argument }) => (await import("./cli/commands.ts")).recover(await loadConfig(), argument),
  doctor: async () => {
    process.exitCode = await (await import("./cli/doctor/doctor.ts")).runDoctor(await loadConfig());
  },
  "upgrade check": async () => {
    process.exitCode = await (await import("./cli/upgrade-check.ts")).upgradeCheck(await loadConfig());
  },
  "blobs migrate": async () => {
    process.exitCode = await (await import("./cli/migrate-blobs.ts")).migrate(await loadConfig());
  },
  "account-link": async ({ argument: person, resetsSecondFactor }) =>
    (await import("./cli/account-link.ts")).printAccountLink(await loadConfig(), { person, resetsSecondFactor }),
  "config check": async () => (await import("./cli/show-config.ts")).checkConfig(),
  "config print": async () => (await import("./cli/show-config.ts")).printConfig(),
  health: async () => (await import("./cli/check-health.ts")).checkHealth(),
  version: () => console.log(packageJson.version),
  help: () => console.log(USAGE),
};

/** Commands that parse their own options and return the exit status. */
const tools: Readonly<Record<string, (args: readonly string[], read: typeof loadConfig) => Promise<number>>> = {
  backup: async (args, read) => (await import("./cli/backup.ts")).backup(args, read),
  export: async (args, read) => (await import("./cli/export-organization.ts")).exportCommand(args, read),
  restore: async (args, read) => (await import("./cli/restore.ts")).restore(args, read),
  verify: async (args, read) => (await import("./cli/verify.ts")).verify(args, read),
  audit: async (args, read) => (await import("./cli/audit.ts")).runAudit(args, read),
};

/** Imports parse their own options and return the exit status. */
const imports: Readonly<Record<string, (args: readonly string[], read: typeof loadConfig) => Promise<number>>> = {
  advisories: async (args, read) => (await import("./cli/import-advisories.ts")).importAdvisories(args, read),
  org: async (args, read) => (await import("./cli/import-organization.ts")).importOrganizationCommand(args, read),
  libraries: async (args, read) => (await import("./cli/import-libraries.ts")).importLibraries(args, read),
  vulnerabilities: async (args, read) => (await import("./cli/import-advisories.ts")).importVulnerabilities(args, read),
};

async function main(): Promise<void> {
  const args = commandLine();
  const [first, second = "", ...rest] = args;
  const runImport = first === "import" && Object.hasOwn(imports, second) ? imports[second] : undefined;
  if (runImport !== undefined) {
    process.exitCode = await runImport(rest, loadConfig).catch(failWith);
    return;
  }
  if (first !== undefined && Object.hasOwn(tools, first)) {
    process.exitCode = await tools[first]!(args.slice(1), loadConfig).catch(failWith);
    return;
  }
  const { positionals, values } = await parseArguments(args);
  // The name of an organization may have spaces.
  const argument = ["recover", "account-link"].includes(positionals[0] ?? "") ? positionals.splice(1).join(" ") : "";
  if (values.help) return console.log(usageOf(positionals.join(" ")));
  const name = values.version ? "version" : positionals.join(" ") || "serve";
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) fail(`holtd: there is no command "${name}"${await suggestionFor(name)}\n${HINT}`, 2);
  assertOwnOptions(values, name);
  if (name === "recover" && argument === "") fail("holtd: name the organization, by its name or uid: holtd recover ORG", 2);
  try {
    const isDryRun = values["dry-run"] === true;
    await command({ argument, isDryRun, wantsLink: values.link === true, resetsSecondFactor: values["reset-second-factor"] === true });
  } catch (error) {
    failWith(error);
  }
}

/** `help COMMAND` is `COMMAND --help`. */
function commandLine(): readonly string[] {
  const args = process.argv.slice(2);
  return args[0] === "help" && args.length > 1 ? [...args.slice(1), "--help"] : args;
}

/** The lines of one command, or of all where there is no such command. */
function usageOf(command: string): string {
  const lines = USAGE.split("\n");
  const begin = Object.hasOwn(commands, command) ? lines.findIndex((line) => line.startsWith(`  ${command} `)) : -1;
  if (begin === -1) return USAGE;
  const further = lines.slice(begin + 1).findIndex((line) => !line.startsWith("      "));
  return ["Usage: holtd COMMAND", "", ...lines.slice(begin, begin + 1 + further)].join("\n");
}

function failWith(error: unknown): never {
  if (error instanceof ConfigError) fail(`holtd: invalid settings:\n${error.message}\nSee docs/configuration.md.`, 2);
  fail(`holtd: ${error instanceof Error ? error.message : String(error)}`, 1);
}

/** Refuses unknown options: after a mistyped --dry-run nothing may be removed. */
async function parseArguments(args: readonly string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: OPTIONS });
  } catch (error) {
    fail(`holtd: ${await optionProblemOf(error, Object.keys(OPTIONS))}\n${HINT}`, 2);
  }
}

function assertOwnOptions(values: Awaited<ReturnType<typeof parseArguments>>["values"], command: string): void {
  for (const [option, owner] of Object.entries(OWNER_OF_OPTION)) {
    const isGiven = values[option as keyof typeof OWNER_OF_OPTION] === true;
    if (isGiven && command !== owner) fail(`holtd: --${option} is an option of "${owner}", not of "${command}"`, 2);
  }
}

/** A command that begins with the same word, or has a similar name. */
async function suggestionFor(name: string): Promise<string> {
  const known = [...Object.keys(commands), ...Object.keys(tools), ...Object.keys(imports).map((kind) => `import ${kind}`)];
  const [word] = name.split(" ");
  const related = known.filter((each) => each.split(" ")[0] === word);
  if (related.length > 0) return `; there is ${related.map((each) => `"${each}"`).join(", ")}`;
  return (await import("./lib/nearest.ts")).didYouMean(name, known);
}

function fail(message: string, code: number): never {
  console.error(message);
  process.exit(code);
}

await main();
