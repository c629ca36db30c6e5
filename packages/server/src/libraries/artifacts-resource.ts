/** Artifacts as a resource: they are listed like any other, and written only by publishing. */
import { ArtifactSchema, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { defineResource } from "../api/resource/define.ts";
import { appendToCount, type CountKind } from "../db/resource-count.ts";
import type { WriteDb } from "../db/store.ts";

export const artifacts = defineResource(ArtifactSchema, {
  table: "library_artifact",
  filters: {},
  orderBy: ["uid", "name", "create_time", "update_time"],
  defaultOrder: "name",
});

/** The counter of the artifacts of each ecosystem. */
export const countKinds: ReadonlyMap<Ecosystem, CountKind> = new Map([
  [Ecosystem.JAVA, "java_artifact"],
  [Ecosystem.PYTHON, "python_artifact"],
]);

/** @param delta 1 for a created artifact, -1 for a deleted one */
export async function countArtifact(db: WriteDb, uid: string, ecosystem: Ecosystem, delta: number): Promise<void> {
  const kind = countKinds.get(ecosystem);
  await appendToCount(db, "library_artifact", uid, delta);
  if (kind !== undefined) await appendToCount(db, kind, uid, delta);
}
