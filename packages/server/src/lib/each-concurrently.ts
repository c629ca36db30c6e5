/**
 * Runs the work for each item, at most `concurrency` at a time. The next item is read when there is room for it.
 * @throws the first error of the items or of the work, once all work that has begun is over
 */
export async function eachConcurrently<T>(
  items: Iterable<T> | AsyncIterable<T>,
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  try {
    for await (const item of items) {
      const task = work(item).then(() => void running.delete(task));
      running.add(task);
      // It may fail while the next item is being read, before anything waits for it.
      task.catch(() => {});
      if (running.size >= concurrency) await Promise.race(running);
    }
    await Promise.all(running);
  } finally {
    await Promise.allSettled(running);
  }
}
