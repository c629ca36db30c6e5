/**
 * Writes the structured log to standard error, one JSON line per event. Never log tokens, secrets or request bodies.
 */
import pino from "pino";
import { type LineSink, LineWriter } from "./line-writer.ts";

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

/** The writers of logs whose lines have no additional fields. */
const writers = new WeakMap<Log, LineWriter>();

export function createLog(level: LogLevel, { fields, process: number, output = openLogOutput() }: LogOptions = {}): Log {
  const writer = new LineWriter(output as unknown as LineSink);
  if (level !== "silent") process.once("exit", () => writer.exit());
  const log = pino(
    {
      level,
      base: number === undefined ? null : { process: number },
      ...(fields && { mixin: fields }),
      timestamp: () => `,"time":"${isoTime()}"`,
      redact: ["authorization", "*.authorization"],
    },
    writer,
  );
  if (fields === undefined && number === undefined) writers.set(log, writer);
  return log;
}

/**
 * Adds a line of level info without pino, for lines that are too many for it: pino looks for secrets in each line.
 * Undefined if the log does not write such lines, or adds fields to them.
 */
export function infoLinesOf(log: Log): ((line: string) => void) | undefined {
  const writer = writers.get(log);
  return writer !== undefined && log.isLevelEnabled("info") ? (line) => writer.add(line) : undefined;
}

let lastMs = 0;
let lastIso = "";

/** The time of a line. Lines of the same millisecond share the text. */
export function isoTime(): string {
  const ms = Date.now();
  if (ms !== lastMs) {
    lastMs = ms;
    lastIso = new Date(ms).toISOString();
  }
  return lastIso;
}

/** Standard error. A process opens it once for all of its lines, so that none is cut by another. */
export function openLogOutput() {
  return pino.destination({ fd: 2, sync: false });
}
