/** Links that sign the bootstrap owner in to the console: a secret that can be used once, within ten minutes. */
import type { WriteDb } from "../db/store.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import { insertPending, randomSecret, takePending } from "./pending.ts";

export const LINK_LIFETIME_MS = 10 * 60_000;

/** @returns the link. Its secret is in the fragment, which browsers do not send, so no log contains it */
export async function createSignInLink(db: WriteDb, baseUrl: string, now: Date, secrets: Secrets): Promise<string> {
  const secret = randomSecret();
  const step = { handle: secret, browser: "", stage: "link", content: {}, lifetimeMs: LINK_LIFETIME_MS } as const;
  await insertPending(db, step, now, secrets);
  return `${baseUrl}/console/sign-in#link=${secret}`;
}

/** @returns whether the secret was valid; from now on it is not */
export async function takeSignInLink(db: WriteDb, secret: string, now: Date, secrets: Secrets): Promise<boolean> {
  return (await takePending(db, { handle: secret, browser: "", stage: "link" }, now, secrets)) !== undefined;
}
