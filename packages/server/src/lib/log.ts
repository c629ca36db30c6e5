/**
 * Writes the structured log to standard error, one JSON line per event. Never log tokens, secrets or request bodies.
 */
import pino from "pino";

export type Log = pino.Logger;
export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** Takes whole lines, also of other processes. `write` returns false until the event `drain`, while many bytes wait. */
export type LogOutput = ReturnType<typeof openLogOutput>;

export interface LogOptions {
  /** Fields of the moment, that each line gets, such as the id of a trace. */
  readonly fields?: (() => object) | undefined;
  /** The number of a server process, as a field of each line. */
  readonly process?: number | undefined;
  /** Standard error by default. */
  readonly output?: LogOutput | undefined;
}

export function createLog(level: LogLevel, { fields, process, output = openLogOutput() }: LogOptions = {}): Log {
  return pino(
    {
      level,
      base: process === undefined ? null : { process },
      ...(fields && { mixin: fields }),
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: ["authorization", "*.authorization"],
    },
    output,
  );
}

/** Standard error. A process opens it once for all of its lines, so that none is cut by another. */
export function openLogOutput() {
  return pino.destination({ fd: 2, sync: false });
}
