/** Stores and lists the builds that provenance in a repo describes. */
import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { BuildReport_Result, BuildReportSchema } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { and, within } from "../../api/resource/conditions.ts";
import { cutPage } from "../../api/resource/page-bytes.ts";
import type { View } from "../../api/resource/visible.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { timestampFromText } from "../../lib/clock.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { rootOf } from "../../lib/uid.ts";
import type { FoundBuild } from "./read-builds.ts";

const encode = compileJsonEncoder(BuildReportSchema);

/** The manifest that holds the provenance. */
export interface ProvenanceManifest {
  readonly repoUid: string;
  readonly digest: string;
}

/** Each build once per repo. */
export async function recordBuilds(
  db: WriteDb,
  { repoUid, digest }: ProvenanceManifest,
  builds: readonly FoundBuild[],
  now: Date,
): Promise<void> {
  if (builds.length === 0) return;
  const rows = builds.map((build) => {
    const uid = `${repoUid}/${createHash("sha256").update(`${digest} ${build.document}`).digest("hex").slice(0, 16)}`;
    const start_time = build.startTime ?? build.endTime ?? now.toISOString();
    return { uid, parent: repoUid, org_uid: rootOf(repoUid), manifest_digest: digest, start_time, body: bodyOf(uid, start_time, build) };
  });
  await db
    .insertInto("build_report")
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** An attestation is made by a build that succeeded. It has no log. */
function bodyOf(uid: string, startTime: string, { mediaType, image, endTime, config, lockedConfig, apkoVersion }: FoundBuild): string {
  return encode(
    create(BuildReportSchema, {
      id: uid,
      mediaType,
      config,
      lockedConfig,
      result: BuildReport_Result.Success,
      digest: image,
      apkoVersion,
      startedAt: timestampFromText(startTime),
      ...(endTime !== undefined && { completedAt: timestampFromText(endTime) }),
    }),
  );
}

export interface BuildWindow {
  /** Organizations of the groups where the caller holds the capability. */
  readonly organizations: readonly string[];
  readonly view: Pick<View, "ranges" | "conditions">;
  /** Inclusive; RFC 3339 in UTC with milliseconds. */
  readonly since: string;
  /** Exclusive. */
  readonly before: string;
  readonly limit: number;
}

/**
 * The reports as JSON, the newest first, as many as fit into a page. Reads each organization's builds in the window by
 * their index, and the bodies of the page only.
 */
export async function listBuilds(db: ReadDb, window: BuildWindow): Promise<string[]> {
  const { rows } = cutPage(await findBuilds(db, window), window.limit, ({ bytes }) => bytes);
  const uids = rows.map(({ uid }) => uid);
  const found = await db
    .selectFrom("build_report")
    .select(["uid", "body"])
    .where("uid", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(uids).as("u")).select("u.value"))
    .execute();
  const bodies = new Map(found.map(({ uid, body }) => [uid, body]));
  // A report may have been deleted in between.
  return uids.flatMap((uid) => bodies.get(uid) ?? []);
}

/** The builds in the window with the sizes of their reports, which are known without reading the reports. */
function findBuilds(db: ReadDb, { organizations, view, since, before, limit }: BuildWindow) {
  const inView: RawBuilder<boolean> = and([within(view.ranges, sql.ref("uid"), db.dialect), ...view.conditions.map(({ test }) => test)]);
  return db
    .selectFrom("build_report")
    .select((eb) => ["uid" as const, eb.fn<number>("octet_length", ["body"]).as("bytes")])
    .where("org_uid", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(organizations).as("o")).select("o.value"))
    .where("start_time", ">=", since)
    .where("start_time", "<", before)
    .where(inView)
    .orderBy("start_time", "desc")
    .orderBy("uid")
    .limit(limit)
    .execute();
}
