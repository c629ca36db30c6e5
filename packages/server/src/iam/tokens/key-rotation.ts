/** Replaces the signing key when it is old. A replaced key stays published until all tokens that it signed have expired. */
import { Loop } from "../../jobs/loop.ts";
import type { Log } from "../../lib/log.ts";
import type { SigningKeys } from "./signing-keys.ts";

export interface KeyRotationOptions {
  readonly keys: SigningKeys;
  readonly log: Log;
  /** The age at which a key is replaced. 0 for never. */
  readonly ageMs: number;
}

export function startKeyRotation({ keys, log, ageMs }: KeyRotationOptions): AsyncDisposable {
  if (ageMs === 0) return { async [Symbol.asyncDispose]() {} };
  return new Loop({ name: "rotating the signing key", log, spacingMs: 1000, step: () => keys.rotateIfOlder(ageMs) });
}
