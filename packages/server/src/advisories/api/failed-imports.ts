/** Finds imports that failed. */
import { AttentionItem_Kind } from "@holt/api/gen/holt/v1/attention_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { AttentionSource } from "../../api/attention.ts";
import { timestampFromText } from "../../lib/clock.ts";
import { rootOf } from "../../lib/uid.ts";

export const failedImports: AttentionSource = {
  capability: Capability.CAP_ADVISORIES_LIST,
  async find({ range, limit }, db) {
    const rows = await db
      .selectFrom("advisory_import")
      .select(["uid", "file_name", "end_time"])
      .where("uid", ">=", range.lower)
      .where("uid", "<", range.upper)
      .where("org_uid", "=", rootOf(range.lower))
      .where("state", "=", "failed")
      .orderBy("end_time", "desc")
      .orderBy("uid")
      .limit(limit)
      .execute();
    return rows.map(({ uid, file_name, end_time }) => ({
      kind: AttentionItem_Kind.IMPORT,
      uid,
      name: file_name,
      ...(end_time !== null && { time: timestampFromText(end_time) }),
    }));
  },
};
