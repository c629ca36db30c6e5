/** Runs the server until it is told to stop. */
import { setTimeout as sleep } from "node:timers/promises";
import { type App, createApp } from "./app.ts";
import { type Config, givenVariables } from "./config.ts";
import { createLog, type Log } from "./lib/log.ts";
import { commandLineOf } from "./lib/program-files.ts";
import { type StartedTracing, startTracing } from "./tracing/start-tracing.ts";

/** Time for running calls to end after the first signal. */
const DRAIN_MS = 9_000;
/** Time for the last spans to reach their collector. */
const FLUSH_MS = 2_000;

/** Resolves when the server is ready; the process then lives until SIGTERM or SIGINT. */
export async function serve(config: Config): Promise<void> {
  const tracing = await startTracing(config.tracesEndpoint);
  const { tracer } = tracing;
  const log = createLog(config.logLevel, tracer.isActive ? () => ({ traceId: tracer.traceId() }) : undefined);
  const app = await createApp(config, log, { tracer });
  let isStopping = false;
  const stop = (signal: NodeJS.Signals) => {
    // A second signal means: do not wait.
    if (isStopping) process.exit(1);
    isStopping = true;
    // Nobody routes traffic to a server that a person ends with Ctrl+C.
    void shutDown({ app, tracing }, { signal, delayMs: signal === "SIGTERM" ? config.stopDelayMs : 0 }, log);
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
  process.stdout.write(welcome(config, app.signInLink));
}

interface Running {
  readonly app: App;
  readonly tracing: StartedTracing;
}

interface Stop {
  readonly signal: NodeJS.Signals;
  readonly delayMs: number;
}

async function shutDown({ app, tracing }: Running, { signal, delayMs }: Stop, log: Log): Promise<void> {
  if (delayMs > 0) {
    log.info({ signal, delayMs }, "not ready any more: stopping after the delay");
    app.announceStop();
    await sleep(delayMs);
  }
  log.info({ signal }, "stopping: waiting for running calls");
  const timeout = new Promise<"late">((resolve) => setTimeout(() => resolve("late"), DRAIN_MS).unref());
  if ((await Promise.race([app.drain(), timeout])) === "late") log.warn("stopping: closing the connections of calls that still run");
  await app[Symbol.asyncDispose]();
  await Promise.race([tracing[Symbol.asyncDispose](), sleep(FLUSH_MS, undefined, { ref: false })]);
  log.info("stopped");
  log.flush(() => process.exit(0));
}

function welcome(config: Config, signInLink: string | undefined): string {
  const { baseUrl, databaseUrl, dataDir } = config;
  return `Holt is ready at ${baseUrl} (REST, gRPC, gRPC-Web and Connect on one port)
  data      ${databaseUrl === "" ? dataDir : "PostgreSQL"}
${consoleLines(config, signInLink)}  API       ${baseUrl}/docs
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
