/** The lines that a start prints for a person. */
import { type Config, givenVariables } from "./config.ts";
import { commandLineOf } from "./lib/program-files.ts";

export function welcome(config: Config, signInLink: string | undefined): string {
  const { baseUrl, databaseUrl, dataDir, processes } = config;
  return `Holt is ready at ${baseUrl} (REST, gRPC, gRPC-Web and Connect on one port)
  data      ${databaseUrl === "" ? dataDir : "PostgreSQL"}
${processes > 1 ? `  processes ${processes}\n` : ""}${consoleLines(config, signInLink)}  API       ${baseUrl}/docs
  sign in   export TOKEN=$(${tokenCommand()}) API=${baseUrl}
  try       curl -H "Authorization: Bearer $TOKEN" "$API/iam/v2/groups?uidp.in_root=true"
`;
}

/** At the first start, a link that signs in; later, how to get another. */
function consoleLines({ console: hasConsole, baseUrl }: Config, signInLink: string | undefined): string {
  if (!hasConsole) return "";
  if (signInLink === undefined) return `  console   ${baseUrl}/  (sign-in link: ${tokenCommand("--link")})\n`;
  return `  console   ${signInLink}\n            (signs you in, once, within ten minutes; for another link: ${tokenCommand("--link")})\n`;
}

/**
 * In another shell the command needs the settings that say where the signing key is and what it signs. The database URL is a
 * secret: only its name is printed.
 */
function tokenCommand(args = ""): string {
  const given = givenVariables([
    "HOLT_CONFIG",
    "HOLT_LISTEN",
    "HOLT_DATA_DIR",
    "HOLT_BASE_URL",
    "HOLT_TLS_CERT",
    "HOLT_TLS_KEY",
    "HOLT_DATABASE_URL_FILE",
  ]);
  const settings = given.map(([name, value]) => `${name}=${/^[\w./:@-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`} `);
  const secret = givenVariables(["HOLT_DATABASE_URL"]).map(() => "HOLT_DATABASE_URL=… ");
  return `${[...settings, ...secret].join("")}${commandLineOf("token", args)}`;
}
