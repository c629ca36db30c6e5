/** Ctrl-C: ends the command at once, or after a step that must not be cut. */

const controller = new AbortController();
let deferred = 0;
let wasInterrupted = false;

/** Aborted by Ctrl-C. */
export const interrupted: AbortSignal = controller.signal;

export function listenForInterrupts(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => interrupt(signal === "SIGINT" ? 130 : 143));
}

/** The first signal lets the command clean up; the second one ends the process. */
function interrupt(status: number): void {
  if (wasInterrupted && deferred === 0) process.exit(status);
  wasInterrupted = true;
  if (deferred === 0) controller.abort();
}

/** Runs a step to its end even if Ctrl-C is pressed meanwhile. */
export async function deferInterrupts<T>(work: () => Promise<T>): Promise<T> {
  deferred++;
  try {
    return await work();
  } finally {
    deferred--;
    if (deferred === 0 && wasInterrupted) controller.abort();
  }
}
