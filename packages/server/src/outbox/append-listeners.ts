/** Notifies listeners, for example when events have become durable. */

export interface AppendListeners {
  /** Must not throw. */
  add(listener: () => void): void;
  notify(): void;
}

export function createAppendListeners(): AppendListeners {
  const listeners: (() => void)[] = [];
  return {
    add: (listener) => void listeners.push(listener),
    notify() {
      for (const listener of listeners) listener();
    },
  };
}
