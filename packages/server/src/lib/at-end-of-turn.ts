/** Does work once the event loop has handled all that arrived in its turn. */

let waiting: (() => void)[] = [];

/** @param work must not throw */
export function atEndOfTurn(work: () => void): void {
  if (waiting.push(work) === 1) setImmediate(doAll);
}

/** One immediate for all work of a turn. */
function doAll(): void {
  const all = waiting;
  waiting = [];
  for (const work of all) work();
}
