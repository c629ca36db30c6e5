/**
 * Writes the structured log to standard error, one JSON line per event. Never log tokens, secrets or request bodies.
 */
import pino from "pino";

export type Log = pino.Logger;
export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** @param fields of the moment, that each line gets, such as the id of a trace */
export function createLog(level: LogLevel, fields?: () => object): Log {
  return pino(
    {
      level,
      base: null,
      ...(fields && { mixin: fields }),
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: ["authorization", "*.authorization"],
    },
    pino.destination({ fd: 2, sync: false }),
  );
}
