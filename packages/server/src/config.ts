/** Reads the settings, which the files of settings/ declare. Only this file reads process.env. */
import { isIP } from "node:net";
import { accessSettings } from "./settings/access.ts";
import { advisoriesSettings } from "./settings/advisories.ts";
import { auditSettings } from "./settings/audit.ts";
import { backupsSettings } from "./settings/backups.ts";
import { conflictsOf, type ParsedSettings } from "./settings/conflicts.ts";
import { eventsSettings } from "./settings/events.ts";
import { keysSettings } from "./settings/keys.ts";
import { limitsSettings } from "./settings/limits.ts";
import { outboundSettings } from "./settings/outbound.ts";
import { registrySettings } from "./settings/registry.ts";
import { serverSettings } from "./settings/server.ts";
import type { Setting, ValuesOf } from "./settings/setting.ts";
import { shownValue } from "./settings/shown-value.ts";
import { CONFIG_FILE, type Environment, gatherSettings, knownNames, type SettingNames, suggestion } from "./settings/sources.ts";
import { storageSettings } from "./settings/storage.ts";

const declared = {
  ...serverSettings,
  ...storageSettings,
  ...backupsSettings,
  ...limitsSettings,
  ...accessSettings,
  ...keysSettings,
  ...outboundSettings,
  ...registrySettings,
  ...eventsSettings,
  ...auditSettings,
  ...advisoriesSettings,
};

export type Config = ValuesOf<typeof declared>;

export const settings: { readonly [Name in keyof Config]: Setting<Config[Name]> } = declared;

/** Settings that cannot be used. The message has one line per setting: its name, its value and what it must be. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Names of settings; those of secrets have a variant `…_FILE` that names a file with the value. */
const names: SettingNames = {
  all: new Set(Object.values(settings).map(({ env }) => env)),
  secrets: new Set(Object.values(settings).flatMap(({ env, isSecret }) => (isSecret ? [env] : []))),
};

/** Reads the environment, and the files that HOLT_CONFIG and the variants of secrets name. @throws ConfigError */
export async function loadConfig(environment: Environment = process.env): Promise<Config> {
  const { values, sources, problems } = await gatherSettings(environment, names);
  return readConfig(values, { sources, problems });
}

/** A setting as `holtd config print` shows it. */
export interface PrintedSetting {
  readonly name: string;
  /** Without what is secret. */
  readonly shown: string;
  readonly source: string;
}

export async function printedSettings(): Promise<PrintedSetting[]> {
  const { values, sources } = await gatherSettings(process.env, names);
  return Object.values(settings).map((setting) => {
    const { env: name, fallback, fallbackDoc } = setting;
    const source = sources.get(name) ?? (fallbackDoc === undefined ? "default" : `default: ${fallbackDoc.replaceAll("`", "")}`);
    return { name, shown: shownValue(setting, values[name] ?? fallback), source };
  });
}

interface Given {
  readonly sources?: ReadonlyMap<string, string>;
  readonly problems?: readonly string[];
}

/** @throws ConfigError that names every bad setting and every unknown HOLT_ variable */
export function readConfig(values: Environment, { sources, problems: found = [] }: Given = {}): Config {
  const problems = [...found, ...unknownVariables(values)];
  const parsed = parseSettings(values, sources, problems);
  problems.push(...conflictsOf(parsed));
  if (problems.length > 0) throw new ConfigError(problems.join("\n"));
  return completeConfig(parsed as Config);
}

/** Appends to `problems` a line for each setting that cannot be parsed. */
function parseSettings(values: Environment, sources: Given["sources"], problems: string[]): ParsedSettings {
  const parsed: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(settings)) {
    const text = values[setting.env] ?? setting.fallback;
    try {
      parsed[key] = setting.parse(text);
    } catch (error) {
      const source = sources?.get(setting.env) ?? "environment";
      const note = source === "environment" ? "" : ` (in ${source})`;
      problems.push(`${setting.env}: ${JSON.stringify(shownValue(setting, text))} must be ${(error as Error).message}${note}`);
    }
  }
  return parsed as ParsedSettings;
}

/** Adds the defaults that depend on other settings, and checks the values together with them. @throws ConfigError */
function completeConfig(parsed: Config): Config {
  const config = withLogin(parsed);
  const baseUrl = config.baseUrl || defaultBaseUrl(config);
  // Local accounts have this issuer, and only their own sign-in may confirm them.
  if (config.userIssuers.some((issuer) => URL.parse(issuer)?.origin === baseUrl))
    throw new ConfigError("HOLT_USER_ISSUERS and HOLT_LOGIN_ISSUER must not be this server itself (HOLT_BASE_URL)");
  return { ...config, baseUrl, registryUrl: config.registryUrl || baseUrl };
}

/** People who sign in with the operator's provider are users of its issuer. */
function withLogin(config: Config): Config {
  if (config.loginIssuer === "") return config;
  const userIssuers = [...new Set([...config.userIssuers, config.loginIssuer])];
  return { ...config, userIssuers, userClientIds: [...new Set([...config.userClientIds, config.loginClientId])] };
}

/** The named variables of the environment that are set. */
export function givenVariables(names: readonly string[]): [string, string][] {
  return names.flatMap((name): [string, string][] => (process.env[name] ? [[name, process.env[name]]] : []));
}

/** Variables of the command line (docs/cli.md), which may be set in the same shell. */
const COMMAND_LINE_VARIABLES = new Set([
  "HOLT_COMPLETION_TIMEOUT",
  "HOLT_CONFIG_DIR",
  "HOLT_CONTEXT",
  "HOLT_CREDENTIAL_STORE",
  "HOLT_TOKEN",
  "HOLT_URL",
]);

function unknownVariables(values: Environment): string[] {
  const known = new Set([...knownNames(names), CONFIG_FILE]);
  return Object.keys(values)
    .filter((name) => name.startsWith("HOLT_") && !names.all.has(name) && !COMMAND_LINE_VARIABLES.has(name))
    .map((name) => `${name}: is not a setting of this version${suggestion(name, known)}`);
}

function defaultBaseUrl({ listen, tlsCert }: Config): string {
  const wildcard = listen.host === "0.0.0.0" || listen.host === "::";
  const host = wildcard ? "127.0.0.1" : isIP(listen.host) === 6 ? `[${listen.host}]` : listen.host;
  return `${tlsCert === "" ? "http" : "https"}://${host}:${listen.port}`;
}
