/** Runs the supervisor of several server processes until it is told to stop. Loads nothing of the server itself. */
import type { Config } from "../config.ts";
import { createLog, openLogOutput } from "../lib/log.ts";
import { welcome } from "../welcome.ts";
import { Supervisor } from "./supervisor.ts";

/** Resolves when the servers are ready; the process then lives until SIGTERM or SIGINT. @throws Error for the operator */
export async function supervise(config: Config): Promise<void> {
  const output = openLogOutput();
  const log = createLog(config.logLevel, { output });
  const supervisor = new Supervisor({ count: config.processes, log, output });
  if (config.metricsListen !== undefined) {
    const { serveMetrics } = await import("./serve-metrics.ts");
    await serveMetrics(config.metricsListen, supervisor, log);
  }
  const stop = (signal: NodeJS.Signals) => supervisor.stop(signal);
  process.on("SIGTERM", stop).on("SIGINT", stop);
  void supervisor.end.then((code) => output.flush(() => process.exit(code)));
  const started = await supervisor.start();
  if (started !== undefined) process.stdout.write(welcome(config, started.signInLink));
}
