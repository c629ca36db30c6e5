/** Declares advisories to the resource engine, which lists them. Only storage/store.ts writes them. */
import { AdvisorySchema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { defineResource } from "../api/resource/define.ts";

export const advisories = defineResource(AdvisorySchema, {
  table: "advisory",
  filters: {},
  orderBy: ["uid", "create_time", "update_time", "advisory_id", "artifact_name"],
  hasDeleteTime: true,
});
