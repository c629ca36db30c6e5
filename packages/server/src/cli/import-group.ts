/** Shared by all import commands: finding the group, and interruption by signals. */
import { AmbiguousName, findNamedGroup } from "../api/resource/named-groups.ts";
import type { ReadDb } from "../db/store.ts";
import type { Installation } from "./open-installation.ts";

/** The first signal lets the current work finish; the second ends the process. */
export function interruption(): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(1);
    controller.abort(new Error("interrupted; run the same command again to continue"));
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return { signal: controller.signal, release: () => void process.off("SIGINT", onSignal).off("SIGTERM", onSignal) };
}

/** @throws Error for the operator */
export async function findGroup(
  { store, grants }: Pick<Installation, "store" | "grants">,
  wanted: string | undefined,
  owner: string,
): Promise<string> {
  if (wanted === undefined) return onlyOrganization(store.reader);
  const { access } = await grants.load(owner);
  const uid = await findNamedGroup(store.reader, wanted.split(/[:/]/), access).catch((error: unknown) => {
    throw error instanceof AmbiguousName ? new Error(`--group: ${error.message}`) : error;
  });
  const row =
    uid === undefined ? undefined : await store.reader.selectFrom("group").select("uid").where("uid", "=", uid).executeTakeFirst();
  if (row === undefined) throw new Error(`there is no group "${wanted}"; name a folder with its parents, as in my-org:team-a`);
  return row.uid;
}

async function onlyOrganization(db: ReadDb): Promise<string> {
  const [only, another] = await db.selectFrom("group").select("uid").where("parent", "is", null).limit(2).execute();
  if (only === undefined) throw new Error("there is no organization yet");
  if (another !== undefined) throw new Error("there are several organizations: choose one with --group");
  return only.uid;
}
