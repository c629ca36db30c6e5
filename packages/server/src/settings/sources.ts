/** Gathers the values of settings from the environment, from the file of HOLT_CONFIG, and from the files of secrets. */
import { readFileSync } from "node:fs";
import { didYouMean } from "../lib/nearest.ts";

/** The variable that names the file of settings. Not a setting itself, so a file cannot name another one. */
export const CONFIG_FILE = "HOLT_CONFIG";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SettingNames {
  readonly all: ReadonlySet<string>;
  /** Settings that have a variant `…_FILE`. */
  readonly secrets: ReadonlySet<string>;
}

export interface GatheredSettings {
  /** Values by the name of the setting, and variables of the environment that are not settings. */
  readonly values: Environment;
  /** Says where each given value is from, as in "environment". */
  readonly sources: ReadonlyMap<string, string>;
  /** One line each. */
  readonly problems: readonly string[];
}

interface Given {
  readonly value: string;
  readonly source: string;
}

/** Variables of the environment win over the file. A secret and its `…_FILE` count as one setting. */
export async function gatherSettings(environment: Environment, names: SettingNames): Promise<GatheredSettings> {
  const problems: string[] = [];
  const { [CONFIG_FILE]: path = "", ...variables } = environment;
  const fromFile = path === "" ? {} : await readConfigFile(path, names, problems);
  const found = new Map<string, Given>([
    ...takeGiven(fromFile, names, { source: path, problems }),
    ...takeGiven(variables, names, { source: "environment", problems }),
  ]);
  const known = knownNames(names);
  const others = Object.entries(variables).filter(([name]) => !known.has(name));
  return {
    values: Object.fromEntries([...others, ...[...found].map(([name, { value }]) => [name, value] as const)]),
    sources: new Map([...found].map(([name, { source }]) => [name, source])),
    problems,
  };
}

/** The names that a source of settings may use. */
export function knownNames({ all, secrets }: SettingNames): ReadonlySet<string> {
  return new Set([...all, ...[...secrets].map((name) => `${name}_FILE`)]);
}

function* takeGiven(
  values: Environment,
  names: SettingNames,
  { source, problems }: { source: string; problems: string[] },
): Generator<[string, Given]> {
  for (const name of names.all) {
    const value = values[name];
    const file = names.secrets.has(name) ? (values[`${name}_FILE`] ?? "") : "";
    if (file !== "" && (value ?? "") !== "") problems.push(`${name} and ${name}_FILE must not be set together`);
    else if (file !== "") {
      const secret = readSecret(`${name}_FILE`, file, problems);
      if (secret !== undefined) yield [name, { value: secret, source: `${file}, by ${name}_FILE in ${source}` }];
    } else if (value !== undefined) yield [name, { value, source }];
  }
}

/** Without the line break that editors and `echo` add. An empty file is a secret that is missing, and not the default. */
function readSecret(name: string, path: string, problems: string[]): string | undefined {
  try {
    const secret = readFileSync(path, "utf8").replace(/\r?\n$/, "");
    if (secret.trim() !== "") return secret;
    problems.push(`${name}: the file ${JSON.stringify(path)} must contain the secret, but it is empty`);
  } catch (error) {
    problems.push(`${name}: ${JSON.stringify(path)} must be the path of a readable file: ${(error as Error).message}`);
  }
  return undefined;
}

async function readConfigFile(path: string, names: SettingNames, problems: string[]): Promise<Record<string, string>> {
  try {
    return settingsOf(await parseConfigFile(readFileSync(path, "utf8")), path, { known: knownNames(names), problems });
  } catch (error) {
    problems.push(`${CONFIG_FILE}: ${JSON.stringify(path)} must be the path of a YAML file of settings: ${(error as Error).message}`);
    return {};
  }
}

async function parseConfigFile(text: string): Promise<Readonly<Record<string, unknown>>> {
  // Loaded for the file alone, so that other starts do not pay for it.
  const { parseYaml } = await import("../lib/yaml.ts");
  const [document = { value: null }, ...more] = parseYaml(text, { uniqueKeys: true });
  if ("reason" in document) throw new Error(document.line === 0 ? document.reason : `line ${document.line}: ${document.reason}`);
  if (more.length > 0) throw new Error("it has more than one YAML document");
  const value = document.value ?? {};
  if (typeof value !== "object" || Array.isArray(value)) throw new Error("it must have one line `NAME: value` for each setting");
  return value as Record<string, unknown>;
}

function settingsOf(
  entries: Readonly<Record<string, unknown>>,
  path: string,
  { known, problems }: { known: ReadonlySet<string>; problems: string[] },
): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(entries)) {
    const text = textOf(value);
    if (!known.has(name)) problems.push(`${name}: ${unknownName(name, known)} (in ${path})`);
    else if (text === undefined) problems.push(`${name}: must be a string, a number or a list of them; "" is an empty one (in ${path})`);
    else settings[name] = text;
  }
  return settings;
}

/** Lists have the form that they have in a variable. */
function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const parts = value.map(textOf);
    return parts.some((part) => part === undefined || part.includes(",")) ? undefined : parts.join(",");
  }
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : undefined;
}

/** The file cannot set variables for the libraries that Holt uses, which read the environment. */
function unknownName(name: string, known: ReadonlySet<string>): string {
  return /^(AWS|NODE|OTEL)_/.test(name)
    ? "is not a setting of Holt; set it as a variable of the environment"
    : `is not a setting of this version${suggestion(name, known)}`;
}

/** Names that people know from other programs, and that are not similar to the name of the setting. */
const NAMES_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ["HOLT_ADDR", "HOLT_LISTEN"],
  ["HOLT_ADDRESS", "HOLT_LISTEN"],
  ["HOLT_BIND", "HOLT_LISTEN"],
  ["HOLT_HOST", "HOLT_LISTEN"],
  ["HOLT_PORT", "HOLT_LISTEN"],
  ["HOLT_DATA", "HOLT_DATA_DIR"],
  ["HOLT_DB_URL", "HOLT_DATABASE_URL"],
  ["HOLT_SMTP_HOST", "HOLT_SMTP_URL"],
  ["HOLT_TLS_CERTIFICATE", "HOLT_TLS_CERT"],
]);

export function suggestion(name: string, known: ReadonlySet<string>): string {
  return didYouMean(NAMES_ELSEWHERE.get(name) ?? name, known) || "; docs/configuration.md lists the settings";
}
