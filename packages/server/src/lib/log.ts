/** The structured log: one JSON line per event on standard error (fd 2). Never a token, a secret or a request body. */
import pino from "pino";

export type Log = pino.Logger;
export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export function createLog(level: LogLevel): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: ["authorization", "*.authorization"] },
    pino.destination({ fd: 2, sync: false }),
  );
}
