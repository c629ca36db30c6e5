/** Functions that are called when something has happened, for example when events have become durable. */
export interface Listeners {
  /** Must not throw. */
  add(listener: () => void): void;
  notify(): void;
}

export function createListeners(): Listeners {
  const listeners: (() => void)[] = [];
  return {
    add: (listener) => void listeners.push(listener),
    notify() {
      for (const listener of listeners) listener();
    },
  };
}
