/**
 * Collects log lines for a few milliseconds and passes them on together: one write through the thread pool costs as much as making a
 * hundred lines. Lines of level warn and above are passed on at once, together with those before them.
 */

/** Where lines go: pino's destination. */
export interface LineSink {
  /** Whether `write` writes before it returns, unless an earlier write is under way. */
  sync: boolean;
  readonly destroyed: boolean;
  write(text: string): unknown;
  /** Writes what waits for an earlier write. */
  flushSync(): void;
}

/** How long a line waits for further ones. A process that is killed loses the lines of this time. */
const DELAY_MS = 10;
/** The most that one write takes, because readers such as container engines read 16 KB at once. */
const BATCH_CHARACTERS = 15 * 1024;
/** pino's number for level warn. */
const WARN = 40;

/** With this property, pino sets `lastLevel` before each line. */
const WITH_METADATA = Symbol.for("pino.metadata");

export class LineWriter {
  readonly [WITH_METADATA] = true;
  /** Level of the line that pino writes next. */
  lastLevel = 0;
  readonly #sink: LineSink;
  #waiting = "";
  #timer: NodeJS.Timeout | undefined;
  #isExiting = false;

  constructor(sink: LineSink) {
    this.#sink = sink;
  }

  /** Called by pino. @param line with its line break */
  write(line: string): void {
    this.add(line);
    if (this.lastLevel >= WARN) this.passOn();
  }

  /** @param line of level info or below, with its line break */
  add(line: string): void {
    this.#waiting += line;
    if (this.#isExiting) this.flushSync();
    else if (this.#waiting.length >= BATCH_CHARACTERS) this.passOn();
    // Keeps the process alive, so that a command writes its last lines before it ends.
    else this.#timer ??= setTimeout(() => this.passOn(), DELAY_MS);
  }

  /** Gives the lines that wait to the sink, which writes them in the background. */
  passOn(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting === "") return;
    const text = this.#waiting;
    this.#waiting = "";
    this.#sink.write(text);
  }

  /** Called by pino. */
  flush(done?: (error?: Error) => void): void {
    this.flushSync();
    done?.();
  }

  /** Writes all lines before it returns. A write in the background would not end after the exit of the process. */
  flushSync(): void {
    if (this.#sink.destroyed) return;
    this.#sink.sync = true;
    this.passOn();
    this.#sink.flushSync();
    this.#sink.sync = this.#isExiting;
  }

  /** Call it when the process exits: from now on, each line is written before `add` returns. */
  exit(): void {
    this.#isExiting = true;
    this.flushSync();
  }
}
