/** Sign-ins under way, each known by a one-time text and tied to the browser that began it: whoever has only one of the two has nothing. */
import { randomBytes } from "node:crypto";
import type { WriteDb } from "../db/store.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import { sha256Hex } from "../lib/sha256.ts";
import type { SignInTable } from "./tables.ts";

/** Long enough to find one's second factor. */
export const PENDING_MS = 15 * 60_000;

export function randomText(): string {
  return randomBytes(32).toString("base64url");
}

export function hashOf(text: string): string {
  return sha256Hex(text);
}

export interface NewPending {
  readonly handle: string;
  /** The browser's cookie. */
  readonly browser: string;
  readonly stage: SignInTable["stage"];
  readonly content: unknown;
}

/** Clears away what has expired, too. */
export async function insertPending(
  db: WriteDb,
  { handle, browser, stage, content }: NewPending,
  now: Date,
  secrets: Secrets,
): Promise<void> {
  await db.deleteFrom("sign_in").where("expire_time", "<=", now.toISOString()).execute();
  const row = {
    handle_hash: hashOf(handle),
    browser_hash: hashOf(browser),
    stage,
    // It may hold the code of an invite, and what proves to the provider that it was this server that asked.
    content: secrets.seal(JSON.stringify(content), contextOf(handle)),
    create_time: now.toISOString(),
    expire_time: new Date(now.getTime() + PENDING_MS).toISOString(),
  };
  await db.insertInto("sign_in").values(row).execute();
}

/** What was kept, which is gone then: of two who come with the same, one gets it. Undefined where there is nothing, or not for this browser. */
export async function takePending<T>(
  db: WriteDb,
  { handle, browser, stage }: Omit<NewPending, "content">,
  now: Date,
  secrets: Secrets,
): Promise<T | undefined> {
  const taken = await db
    .deleteFrom("sign_in")
    .where("handle_hash", "=", hashOf(handle))
    .where("browser_hash", "=", hashOf(browser))
    .where("stage", "=", stage)
    .where("expire_time", ">", now.toISOString())
    .returning("content")
    .executeTakeFirst();
  return taken === undefined ? undefined : (JSON.parse(secrets.open(taken.content, contextOf(handle))) as T);
}

function contextOf(handle: string): string {
  return `sign_in/${hashOf(handle)}`;
}
