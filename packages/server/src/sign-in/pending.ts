/**
 * Stores the steps of running sign-ins. A step is found by a one-time handle and the cookie of the browser that began
 * it; neither is enough alone.
 */
import { randomBytes } from "node:crypto";
import type { WriteDb } from "../db/store.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import { sha256Hex } from "../lib/sha256.ts";
import type { SignInTable } from "./tables.ts";

/** Long enough for a second factor. */
export const PENDING_MS = 15 * 60_000;

export function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}

export function hashSecret(text: string): string {
  return sha256Hex(text);
}

export interface PendingStep {
  readonly handle: string;
  /** Value of the browser's cookie. */
  readonly browser: string;
  readonly stage: SignInTable["stage"];
  readonly content: unknown;
  /** As long as a sign-in may take, by default. */
  readonly lifetimeMs?: number;
}

/** Also deletes expired steps. */
export async function insertPending(
  db: WriteDb,
  { handle, browser, stage, content, lifetimeMs = PENDING_MS }: PendingStep,
  now: Date,
  secrets: Secrets,
): Promise<void> {
  await db.deleteFrom("sign_in").where("expire_time", "<=", now.toISOString()).execute();
  const row = {
    handle_hash: hashSecret(handle),
    browser_hash: hashSecret(browser),
    stage,
    // Sealed, since it may contain an invite code and the secrets of the authorization request.
    content: secrets.seal(JSON.stringify(content), sealContext(handle)),
    create_time: now.toISOString(),
    expire_time: new Date(now.getTime() + lifetimeMs).toISOString(),
  };
  await db.insertInto("sign_in").values(row).execute();
}

/**
 * Returns and deletes the step's content. If two requests take it at the same time, one gets it.
 * @returns undefined if there is no such step for this browser
 */
export async function takePending<T>(
  db: WriteDb,
  { handle, browser, stage }: Pick<PendingStep, "handle" | "browser" | "stage">,
  now: Date,
  secrets: Secrets,
): Promise<T | undefined> {
  const taken = await db
    .deleteFrom("sign_in")
    .where("handle_hash", "=", hashSecret(handle))
    .where("browser_hash", "=", hashSecret(browser))
    .where("stage", "=", stage)
    .where("expire_time", ">", now.toISOString())
    .returning("content")
    .executeTakeFirst();
  return taken === undefined ? undefined : (JSON.parse(secrets.open(taken.content, sealContext(handle))) as T);
}

function sealContext(handle: string): string {
  return `sign_in/${hashSecret(handle)}`;
}
