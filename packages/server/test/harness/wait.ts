/** Waits with a time limit that only a failure exceeds, even on a busy machine. */

export const PATIENCE_MS = 120_000;

/** Waits until the condition holds. @throws after `ms` */
export async function until(condition: () => boolean | Promise<boolean>, ms = PATIENCE_MS): Promise<void> {
  const deadline = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`the condition did not hold within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/**
 * Checks again and again that something does not happen. A slow machine cannot make this fail; it only makes the test
 * see less. Prefer to wait for an event after which the thing can no longer happen.
 * @throws what the check throws
 */
export async function never(check: () => void | Promise<void>, ms = 300): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; ) {
    await check();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await check();
}

/** Gives another process or thread time to get further. What the test asserts must hold whether it did or not. */
export async function giveTime(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits for the result. @throws with the complaint after `ms` */
export async function within<T>(result: Promise<T>, complaint: () => string, ms = PATIENCE_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(complaint())), ms);
  });
  return Promise.race([result, timeout]).finally(() => clearTimeout(timer));
}
