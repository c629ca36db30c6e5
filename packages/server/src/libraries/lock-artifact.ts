/** Locks the artifact of a publication. Its row describes all of its versions, so publications of one artifact wait for each other. */
import { create } from "@bufbuild/protobuf";
import { PythonProject_Status } from "@holt/api/gen/holt/v1/python_projects_pb.ts";
import { type Artifact, ArtifactSchema, type Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { assertGroupExists } from "../api/resource/write.ts";
import type { WriteDb } from "../db/store.ts";
import { timestampFromDate } from "../lib/clock.ts";
import { aborted, invalidArgument } from "../lib/errors.ts";
import { newUid } from "../lib/uid.ts";
import { artifacts, countArtifact } from "./artifacts-resource.ts";
import { indexName } from "./name-index.ts";
import type { Publication } from "./publication.ts";
import type { StoredStatus } from "./python/project-settings.ts";

export interface LockedArtifact extends StoredStatus {
  readonly uid: string;
  readonly name: string;
}

/**
 * Creates the artifact if there is none.
 * @throws INVALID_ARGUMENT if its name is spelled differently; NOT_FOUND if the group is gone
 */
export async function lockOrCreateArtifact(db: WriteDb, { library, name, key }: Publication, now: Date): Promise<LockedArtifact> {
  const { groupUid, ecosystem } = library;
  const find = () =>
    db.dialect
      .forUpdate(
        db
          .selectFrom("library_artifact")
          .select(["uid", "name", "status", "status_reason"])
          .where("parent", "=", groupUid)
          .where("ecosystem", "=", ecosystem)
          .where("key", "=", key),
      )
      .executeTakeFirst();
  const found = await find();
  if (found !== undefined) return withSameName(found, name);
  await assertGroupExists(groupUid, db);
  const uid = newUid(groupUid);
  const time = now.toISOString();
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("library_artifact")
    .values({
      uid,
      parent: groupUid,
      name,
      create_time: time,
      update_time: time,
      ecosystem,
      key,
      latest_sort_key: "",
      remediated: 0,
      serial: 0,
      body: artifacts.encode(newArtifact(uid, name, ecosystem, now)),
    })
    .onConflict((conflict) => conflict.columns(["parent", "ecosystem", "key"]).doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n) {
    // A concurrent publication has created it.
    const other = await find();
    if (other === undefined) throw aborted(`${name} is being removed; try again`);
    return withSameName(other, name);
  }
  await countArtifact(db, uid, ecosystem, 1);
  await indexName(db, { uid, name, ecosystem });
  return { uid, name, status: PythonProject_Status.ACTIVE, status_reason: "" };
}

/** An artifact has one spelling: two would look like two artifacts. */
function withSameName(found: LockedArtifact, name: string): LockedArtifact {
  if (found.name !== name)
    throw invalidArgument(
      "name",
      `the library has "${found.name}", the same name as "${name}" in another spelling; publish under that name`,
    );
  return found;
}

function newArtifact(uid: string, name: string, ecosystem: Ecosystem, now: Date): Artifact {
  const time = timestampFromDate(now);
  return create(ArtifactSchema, { uid, name, ecosystem, createTime: time, updateTime: time });
}
