/** Walks through all content in small steps. walk-phases.ts finds the garbage; this file counts it and keeps the progress. */
import { type Counts, PHASES, type WalkProgress } from "./collection-state.ts";
import { START } from "./garbage.ts";
import { createWalkPhases, type Garbage, type PhaseOptions } from "./walk-phases.ts";

export interface Walk {
  /** Where the next walk can go on after a crash. */
  progress(): WalkProgress;
  /** Walks through one more batch; false after the last. */
  step(): Promise<boolean>;
}

export interface WalkOptions extends PhaseOptions {
  /** Where the walk begins. */
  readonly progress: WalkProgress;
}

export function createWalk({ progress, onGarbage, ...options }: WalkOptions): Walk {
  let { phase, after, counts }: WalkProgress = progress;
  let settled = { phase, after };
  const phases = createWalkPhases({ ...options, onGarbage: count });

  function count(garbage: Garbage): void {
    const size = garbage.kind === "blob" ? garbage.size : 0;
    const name: keyof Counts = `${garbage.kind}s`;
    counts = { ...counts, [name]: counts[name] + 1, bytes: counts.bytes + size };
    onGarbage(garbage);
  }

  return {
    progress: () => ({ ...settled, counts }),
    async step() {
      const next = await phases.step(phase, after);
      const following = PHASES[PHASES.indexOf(phase) + 1];
      if (next === undefined && following === undefined) return false;
      [phase, after] = next === undefined ? [following ?? phase, START] : [phase, next];
      // After a crash, the garbage that waits has to be found again.
      if (!phases.isWaiting()) settled = { phase, after };
      return true;
    },
  };
}
