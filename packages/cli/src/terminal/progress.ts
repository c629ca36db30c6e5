/** Progress of long work on standard error, with rate and time left. Silent without a terminal. */
import { formatBytes, formatSeconds } from "../output/human.ts";

export interface Progress {
  add(count: number): void;
  /** Removes the line. */
  end(): void;
}

export interface ProgressOptions {
  readonly title: string;
  /** Undefined if nobody knows. */
  readonly total?: number | undefined;
  /** Default: a plain number. */
  readonly unit?: "bytes";
}

const REDRAW_MS = 100;

export function startProgress({ title, total, unit }: ProgressOptions): Progress {
  const { stderr } = process;
  if (!stderr.isTTY) return { add: () => {}, end: () => {} };
  const format = (count: number) => (unit === "bytes" ? formatBytes(count) : String(Math.round(count)));
  const begin = Date.now();
  let done = 0;
  let drawn = 0;
  const draw = (now: number) => {
    const rate = done / Math.max(1, (now - begin) / 1000);
    const share = total ? ` of ${format(total)} (${Math.floor((done / total) * 100)} %)` : "";
    const left = total && rate > 0 ? `, ${formatSeconds((total - done) / rate)} left` : "";
    stderr.write(`\r\x1b[K${`${title}: ${format(done)}${share}, ${format(rate)}/s${left}`.slice(0, (stderr.columns ?? 80) - 1)}`);
  };
  return {
    add(count) {
      done += count;
      const now = Date.now();
      if (now < drawn + REDRAW_MS) return;
      drawn = now;
      draw(now);
    },
    end: () => void stderr.write("\r\x1b[K"),
  };
}
