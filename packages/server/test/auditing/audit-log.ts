/** Reads the audit log of a test server, once everything that waits is sealed. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { type AuditEntry, AuditService } from "@holt/api/gen/holt/v1/audit_pb.ts";
import { appendAudit } from "../../src/audit/append.ts";
import type { EntryContent } from "../../src/audit/audit-entry.ts";
import { readSealState, seal } from "../../src/auditing/chain/seal.ts";
import { until } from "../harness/wait.ts";
import type { World } from "../harness/world.ts";

/** Seals everything that is committed, without waiting for the server to do so. Refusals come a moment later: wait for them with `until`. */
export async function sealAll({ store, clock }: Pick<World, "store" | "clock">): Promise<void> {
  const last = await lastSeq({ store });
  await until(async () => {
    while (await seal(store, clock));
    return (await readSealState(store.reader)).seq >= last;
  });
}

/** The number of the last row, sealed or not. */
export async function lastSeq({ store }: Pick<World, "store">): Promise<number> {
  const row = await store.reader.selectFrom("audit_entry").select("seq").orderBy("seq", "desc").limit(1).executeTakeFirst();
  return Number(row?.seq ?? 0);
}

/** Entries after the row, sealed or not. */
export async function entriesAfter({ store }: Pick<World, "store">, seq: number): Promise<EntryContent[]> {
  const rows = await store.reader.selectFrom("audit_entry").select("content").where("seq", ">", seq).orderBy("seq").execute();
  return rows.map(({ content }) => JSON.parse(content) as EntryContent);
}

type ListRequest = MessageInitShape<(typeof AuditService.method.listAuditEntries)["input"]>;

/** Lists until the page is there: entries appear a moment after their change. */
export async function listWhen(world: World, request: ListRequest, isThere: (entries: AuditEntry[]) => boolean): Promise<AuditEntry[]> {
  let found: AuditEntry[] = [];
  await until(async () => {
    found = (await world.must(AuditService.method.listAuditEntries, request)).entries;
    return isThere(found);
  });
  return found;
}

/** Appends entries of 64 KiB each, as those of large changes are. */
export async function appendLargeEntries({ store, clock, orgUid: organization }: World, count: number): Promise<void> {
  const request = JSON.stringify({ text: "x".repeat(60 * 1024) });
  await store.transaction(async (db) => {
    for (let i = 0; i < count; i++)
      await appendAudit(db, { action: "large", actor: "", target: organization, organization, outcome: "OK", request, now: clock.now() });
  });
}
