/** Limits how often a feed is built: after each build it has a cooldown, which is longer for anonymous callers. */
import type { Clock } from "../../lib/clock.ts";
import { Lru } from "../../lib/lru.ts";

/** After a longer build, the feed is not rebuilt for `COOLDOWN_FACTOR` times the duration of the build. */
const LONG_MS = 1000;
const COOLDOWN_FACTOR = 9;
/** After any build, anonymous callers do not cause another one for this long. */
const ANONYMOUS_COOLDOWN_MS = 5000;

/** Why a feed is not built again for a while. It is over at once if the clock is set back. */
interface Cooldown {
  /** The end of the build, in milliseconds since 1970. */
  readonly began: number;
  /** Duration for authenticated callers. */
  readonly authenticatedMs: number;
  /** The same for anonymous callers. */
  readonly anonymousMs: number;
  readonly hasFailed: boolean;
}

export interface FeedCooldowns {
  /** Begins the cooldown of a feed whose build has just ended. */
  begin(key: string, buildMs: number, hasFailed: boolean): void;
  /** @param isLost there is no feed; it is built again at once, unless its last build failed */
  mayBuild(key: string, isAnonymous: boolean, isLost: boolean): boolean;
}

export function createFeedCooldowns(clock: Clock): FeedCooldowns {
  const cooldowns = new Lru<string, Cooldown>(10_000);
  return {
    begin(key, buildMs, hasFailed) {
      const authenticatedMs = buildMs < LONG_MS ? 0 : COOLDOWN_FACTOR * buildMs;
      const anonymousMs = Math.max(authenticatedMs, ANONYMOUS_COOLDOWN_MS);
      cooldowns.set(key, { began: clock.now().getTime(), authenticatedMs, anonymousMs, hasFailed });
    },
    mayBuild(key, isAnonymous, isLost) {
      const cooldown = cooldowns.get(key);
      if (cooldown === undefined || (isLost && !cooldown.hasFailed)) return true;
      const elapsedMs = clock.now().getTime() - cooldown.began;
      return elapsedMs < 0 || elapsedMs >= (isAnonymous ? cooldown.anonymousMs : cooldown.authenticatedMs);
    },
  };
}
