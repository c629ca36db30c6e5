/** Advisory mirrors as a resource. The status of a mirror is in its body, and changes without an update. */
import { create } from "@bufbuild/protobuf";
import {
  type AdvisoryMirror,
  AdvisoryMirrorSchema,
  type AdvisoryMirrorStatus,
  AdvisoryMirrorStatusSchema,
} from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { defineResource } from "../../api/resource/define.ts";
import type { WriteDb } from "../../db/store.ts";
import { messageFromJson } from "../../lib/proto-json.ts";

export const advisoryMirrors = defineResource(AdvisoryMirrorSchema, {
  table: "advisory_mirror",
  filters: { name: "name" },
  orderBy: ["uid", "name", "create_time", "update_time"],
});

export function intervalOf({ interval }: AdvisoryMirror): number {
  return Number(interval?.seconds ?? 0n) * 1000 + Math.ceil((interval?.nanos ?? 0) / 1_000_000);
}

/** Locks the mirror until the transaction ends. Undefined where it is deleted. */
export async function lockMirror(db: WriteDb, uid: string): Promise<AdvisoryMirror | undefined> {
  const row = await db.dialect.forUpdate(db.selectFrom("advisory_mirror").select("body").where("uid", "=", uid)).executeTakeFirst();
  return row === undefined ? undefined : messageFromJson(AdvisoryMirrorSchema, row.body);
}

export async function storeStatus(db: WriteDb, mirror: AdvisoryMirror, change: Partial<AdvisoryMirrorStatus>): Promise<void> {
  const body = advisoryMirrors.encode({ ...mirror, status: statusWith(mirror, change) });
  await db.updateTable("advisory_mirror").set({ body }).where("uid", "=", mirror.uid).execute();
}

/** A copy of the status with the change. A field that is undefined in the change is removed. */
export function statusWith({ status }: AdvisoryMirror, change: Partial<AdvisoryMirrorStatus>): AdvisoryMirrorStatus {
  return Object.assign(create(AdvisoryMirrorStatusSchema), status, change);
}
