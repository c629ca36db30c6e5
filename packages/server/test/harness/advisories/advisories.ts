/**
 * Writes advisories, vulnerabilities and packages of images directly into the database, as imports and readers of
 * images do.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { VulnerabilityMetadataSchema } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import {
  type AdvisoryEvent,
  type AdvisoryEventSchema,
  AdvisorySchema,
  ReviewStatus,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { deriveAdvisory } from "../../../src/advisories/storage/derive.ts";
import { storeAdvisories } from "../../../src/advisories/storage/store.ts";
import { appendToVulnerabilityCount } from "../../../src/db/resource-count.ts";
import type { Store } from "../../../src/db/store.ts";
import { timestampFromText } from "../../../src/lib/clock.ts";
import { compileJsonEncoder } from "../../../src/lib/proto-json.ts";
import { newUid } from "../../../src/lib/uid.ts";

type Init<T> = Omit<Extract<T, { $typeName?: never }>, "$typeName">;
export type EventType = NonNullable<Init<MessageInitShape<typeof AdvisoryEventSchema>>["type"]>;

export interface GivenEvent {
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly type: EventType;
  /** APPROVED by default. */
  readonly status?: ReviewStatus;
}

export interface GivenAdvisory {
  readonly parent: string;
  readonly id: string;
  readonly name?: string;
  readonly type?: string;
  readonly architecture?: string;
  /** Name of an apk package. */
  readonly component?: string;
  readonly aliases?: readonly string[];
  readonly events?: readonly GivenEvent[];
  readonly isDeleted?: boolean;
}

/** @returns uids in the order given */
export async function putAdvisories(store: Store, given: readonly GivenAdvisory[]): Promise<string[]> {
  const advisories = given.map((one) => {
    const uid = newUid(one.parent);
    const events = (one.events ?? []).map(({ time, type, status = ReviewStatus.APPROVED }) => ({
      id: newUid(uid),
      timestamp: timestampFromText(time),
      type,
      status,
      author: "author",
    }));
    events.sort((a, b) => Number(a.timestamp.seconds - b.timestamp.seconds) || (a.id < b.id ? -1 : 1));
    const time = timestampFromText("2026-01-01T00:00:00.000Z");
    return create(AdvisorySchema, {
      id: uid,
      advisoryId: one.id,
      artifactName: one.name ?? "openssl",
      artifactType: one.type ?? "apk",
      artifactArchitecture: one.architecture ?? "x86_64",
      ...(one.component !== undefined && { componentName: one.component, componentType: "apk" }),
      aliases: [...(one.aliases ?? [])],
      author: "author",
      createdAt: time,
      updatedAt: time,
      ...(one.isDeleted && { deletedAt: time }),
      events: events as unknown as AdvisoryEvent[],
    });
  });
  await store.transaction((db) =>
    storeAdvisories(
      db,
      advisories.map((advisory) => ({ before: undefined, after: deriveAdvisory(advisory) })),
    ),
  );
  return advisories.map(({ id }) => id);
}

export function fixed(time: string, fixedVersion: string, status?: ReviewStatus): GivenEvent {
  return { time, type: { case: "fixed", value: { fixedVersion } }, ...(status !== undefined && { status }) };
}

export function falsePositive(time: string, status?: ReviewStatus): GivenEvent {
  return {
    time,
    type: { case: "falsePositiveDetermination", value: { type: 3, note: "not used" } },
    ...(status !== undefined && { status }),
  };
}

const encodeMetadata = compileJsonEncoder(VulnerabilityMetadataSchema);

export async function putVulnerabilities(
  store: Store,
  given: readonly Init<MessageInitShape<typeof VulnerabilityMetadataSchema>>[],
): Promise<void> {
  const rows = given.map((one) => {
    const message = create(VulnerabilityMetadataSchema, one);
    const { severities } = JSON.parse(encodeMetadata(message)) as { severities: unknown };
    return { id: message.id, update_time: "", modified_time: "", severities: JSON.stringify(severities), body: encodeMetadata(message) };
  });
  await store.transaction(async (db) => {
    await db.insertInto("vulnerability").values(rows).execute();
    await appendToVulnerabilityCount(db, rows.length);
  });
}

export interface GivenPackage {
  readonly name: string;
  readonly version: string;
  readonly type?: string;
  readonly origin?: string;
}

/** Writes the packages of a manifest, as a reader of images would. */
export async function putPackages(store: Store, digest: string, packages: readonly GivenPackage[]): Promise<void> {
  const scan = { digest, state: "done", attempts: 1, lease_time: null, read_time: null } as const;
  const rows = packages.map(({ name, version, type = "apk", origin = name }) => ({
    ...{ digest, type, name, version, origin, architecture: "x86_64", location: "lib/apk/db/installed", source: "image", purl: "" },
  }));
  await store.transaction(async (db) => {
    await db.deleteFrom("image_package").where("digest", "=", digest).execute();
    await db.deleteFrom("image_scan").where("digest", "=", digest).execute();
    await db
      .insertInto("image_scan")
      .values({ ...scan, distribution: "wolfi", error: "", package_count: rows.length })
      .execute();
    if (rows.length > 0) await db.insertInto("image_package").values(rows).execute();
  });
}
