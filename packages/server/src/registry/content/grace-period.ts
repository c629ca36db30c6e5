/** Whether content that a client finds, and so does not push again, needs a new grace period before collection. Pure. */

/**
 * Whether at least half of the grace period has passed. Content that is found often is then written seldom.
 * @param touchTime start of the grace period
 */
export function needsNewGrace(touchTime: string, now: Date, graceMs: number): boolean {
  return touchTime <= new Date(now.getTime() - graceMs / 2).toISOString();
}
