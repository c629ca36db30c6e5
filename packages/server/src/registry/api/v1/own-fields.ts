/**
 * Fields of a version 1 repo that version 2 does not have: `sync_apks`, and the group id 0 of a user of the overlay. They
 * are stored next to the body, whose message is that of version 2.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Repo } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import type { WriteCall } from "../../../api/call/call.ts";

/** The JSON of the column. It applies only to the source and the users that it was stored for. */
interface OwnFields {
  /** Uid of the source whose packages are synced. */
  readonly apksOf: string;
  /** Keys of the users with the group id 0. */
  readonly inGroupZero: readonly string[];
}

const NONE: OwnFields = { apksOf: "", inGroupZero: [] };

/** Stores the fields of `given`, and adds them to `repo`, the reply of version 2. A message that `given` leaves out keeps its fields. */
export async function saveOwnFields(given: Repo, repo: Repo, call: WriteCall): Promise<void> {
  const { db } = call;
  const row = await db.selectFrom("repo").select("version_one").where("uid", "=", repo.id).executeTakeFirst();
  const before = parse(row?.version_one ?? null);
  const next = nextFields(given, repo, before);
  showInMessage(repo, next);
  const [from, to] = [before, next].map((fields) => JSON.stringify(fields));
  if (from === to) return;
  call.changed = true;
  await db
    .updateTable("repo")
    .set({ version_one: next === NONE ? null : (to as string) })
    .where("uid", "=", repo.id)
    .execute();
}

function nextFields(given: Repo, { syncConfig }: Repo, before: OwnFields): OwnFields {
  const apksOf = given.syncConfig === undefined ? before.apksOf : given.syncConfig.syncApks ? (syncConfig?.source ?? "") : "";
  const users = given.customOverlay === undefined ? undefined : (given.customOverlay.accounts?.users ?? []);
  const inGroupZero = users?.flatMap(({ userName, gid }, index) => (gid === 0 ? [keyOf(userName, index)] : [])) ?? before.inGroupZero;
  return apksOf === "" && inGroupZero.length === 0 ? NONE : { apksOf, inGroupZero };
}

function showInMessage({ syncConfig, customOverlay }: Repo, { apksOf, inGroupZero }: OwnFields): void {
  if (syncConfig !== undefined) syncConfig.syncApks = apksOf === syncConfig.source;
  for (const [index, user] of (customOverlay?.accounts?.users ?? []).entries())
    if (inGroupZero.includes(keyOf(user.userName, index))) user.gid ??= 0;
}

/**
 * @param body of version 2
 * @param column as stored
 * @returns the body with members for the fields, which the conversion to version 1 reads
 */
export function withOwnFields(body: string, column: string | null): string {
  if (column === null) return body;
  const { apksOf, inGroupZero } = parse(column);
  const repo = JSON.parse(body) as StoredRepo;
  if (repo.sync_config?.source === apksOf) repo.sync_config.syncApks = true;
  for (const [index, user] of (repo.customOverlay?.accounts?.users ?? []).entries())
    user.isInGroupZero = inGroupZero.includes(keyOf(String(user.username), index));
  return JSON.stringify(repo);
}

interface StoredRepo extends JsonObject {
  readonly sync_config?: JsonObject;
  readonly customOverlay?: { readonly accounts?: { readonly users?: JsonObject[] } };
}

function parse(column: string | null): OwnFields {
  return column === null ? NONE : (JSON.parse(column) as OwnFields);
}

function keyOf(name: string, index: number): string {
  return `${index} ${name}`;
}
