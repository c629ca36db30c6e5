/**
 * Writes the structured log to standard error, one JSON line per event. Never log tokens, secrets or request bodies.
 */
import pino from "pino";

export type Log = pino.Logger;
export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export function createLog(level: LogLevel): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: ["authorization", "*.authorization"] },
    pino.destination({ fd: 2, sync: false }),
  );
}
