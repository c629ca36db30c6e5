/** What all imports of the command line share: which group is meant, and how they are interrupted. */

import { AmbiguousName, findNamedGroup } from "../api/resource/named-groups.ts";
import type { ReadDb } from "../db/store.ts";
import type { Installation } from "./open-installation.ts";

/** What is under way is finished after the first signal; the second ends the process. */
export function interruption(): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(1);
    controller.abort(new Error("interrupted; the same command goes on with what is left"));
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
  if (row === undefined) throw new Error(`there is no group "${wanted}"; a folder is named with what is above it, as my-org:team-a`);
  return row.uid;
}

async function onlyOrganization(db: ReadDb): Promise<string> {
  const [only, another] = await db.selectFrom("group").select("uid").where("parent", "is", null).limit(2).execute();
  if (only === undefined) throw new Error("there is no organization yet");
  if (another !== undefined) throw new Error("there are several organizations: say with --group which one is meant");
  return only.uid;
}
