/**
 * The registry without HTTP on its own store: repos, uploads, manifests, collection, and a clock that tests advance.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { digestOf } from "../../../src/blobs/digest.ts";
import { createFilesystemBlobs } from "../../../src/blobs/filesystem.ts";
import { createS3Blobs } from "../../../src/blobs/s3/s3-blobs.ts";
import type { BlobStore } from "../../../src/blobs/store.ts";
import { openDatabase } from "../../../src/cli/open-installation.ts";
import type { Store } from "../../../src/db/store.ts";
import { blobReferences, eventSubjects } from "../../../src/domains.ts";
import { Parsers } from "../../../src/jobs/parsers.ts";
import { createLog } from "../../../src/lib/log.ts";
import { newUid } from "../../../src/lib/uid.ts";
import { vendorProfiles } from "../../../src/lib/vendor-profile.ts";
import { EventContexts } from "../../../src/outbox/event-context.ts";
import { deleteManifest, deleteTag } from "../../../src/registry/collection/delete-content.ts";
import { type Collector, type CollectorOptions, createCollector } from "../../../src/registry/collection/gc.ts";
import type { PushRepo } from "../../../src/registry/content/create-repo.ts";
import type { Origin, RegistryNames } from "../../../src/registry/content/oci-events.ts";
import { pushManifest } from "../../../src/registry/content/push-manifest.ts";
import { createUploads, type Uploads } from "../../../src/registry/content/uploads.ts";
import { locationOf, useS3Credentials } from "../blobs/blob-stores.ts";
import { type S3Server, startS3Server } from "../blobs/s3-server.ts";
import type { ManualClock } from "../manual-clock.ts";
import { createMigratedDatabase, createMigratedSqlite } from "../migrated-database.ts";

const IMAGE_TYPE = "application/vnd.oci.image.manifest.v1+json";
export const INDEX_TYPE = "application/vnd.oci.image.index.v1+json";
const profile = vendorProfiles.get("")!;
const NAMES = {
  profile,
  baseUrl: "http://127.0.0.1:8080",
  subjects: eventSubjects,
  registryHost: "127.0.0.1:8080",
  onAppend() {},
};
const origin: Origin = {
  repository: "my-org/nginx",
  remoteAddress: "127.0.0.1",
  userAgent: "test",
  actor: { subject: "somebody", claimsAt: () => ({}) },
};

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** Ahead of the machine's clock, and moves with it. */
type MovingClock = Pick<ManualClock, "now" | "advance">;

export interface StorageFixture extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
  readonly s3: S3Server | undefined;
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly parsers: Parsers;
  readonly uploads: Uploads;
  readonly collector: Collector;
  /** Runs with the real clock, ahead by as much as it was advanced. */
  readonly clock: MovingClock;
  newRepo(): Promise<string>;
  /** A new collector, like that of another server. */
  otherCollector(options?: Partial<CollectorOptions>): Collector;
  pushBlob(repoUid: string, content?: Buffer): Promise<Descriptor>;
  /** Pushes an image of these layers, or of a new one; by its digest if there is no tag. */
  pushImage(repoUid: string, image?: { tag?: string; layers?: readonly Descriptor[]; subject?: Descriptor }): Promise<Descriptor>;
  pushIndex(
    repoUid: string,
    index: { tag?: string; manifests: readonly Descriptor[]; subject?: Descriptor; annotations?: Readonly<Record<string, string>> },
  ): Promise<Descriptor>;
  /** Pushes these bytes as a manifest by their digest. */
  pushContent(repo: PushRepo, content: Buffer): Promise<Descriptor>;
  deleteTag(repoUid: string, name: string): Promise<void>;
  deleteManifest(repoUid: string, digest: string): Promise<void>;
}

export const GRACE_MS = 24 * 3_600_000;

/**
 * @param kind `s3` is PostgreSQL with blobs in a bucket
 * @param beside another fixture, whose database and folder or bucket this one shares
 */
export async function createStorageFixture(
  kind: "sqlite" | "postgres" | "s3",
  graceMs = GRACE_MS,
  beside?: Pick<StorageFixture, "url" | "dataDir" | "s3">,
): Promise<StorageFixture> {
  const dataDir = beside?.dataDir ?? (await mkdtemp(join(tmpdir(), "holt-storage-")));
  const log = createLog("silent");
  useS3Credentials();
  const url = beside?.url ?? (kind === "sqlite" ? "" : await createMigratedDatabase());
  if (url === "" && beside === undefined) await createMigratedSqlite(dataDir);
  const store = await openDatabase({ url, dataDir, log });
  const s3 = kind === "s3" ? (beside?.s3 ?? (await startS3Server())) : undefined;
  const blobs = s3 === undefined ? createFilesystemBlobs({ dataDir, log }) : createS3Blobs({ location: locationOf(s3), store, log });
  const parsers = new Parsers();
  const names: RegistryNames = { ...NAMES, contexts: new EventContexts() };
  let ahead = 0;
  const clock: MovingClock = {
    now: () => new Date(Date.now() + ahead),
    advance(ms) {
      ahead += ms;
    },
  };
  const uploads = createUploads({ store, blobs, clock, graceMs });
  const otherCollector = (options: Partial<CollectorOptions> = {}) =>
    createCollector({ store, blobs, references: blobReferences, uploads, clock, log, graceMs, ...options });

  async function pushBlob(repoUid: string, content = randomBytes(500)): Promise<Descriptor> {
    const digest = digestOf(content);
    const { size } = await uploads.put(repoUid, Readable.from([content], { objectMode: false }), digest, () => true);
    return { mediaType: "application/octet-stream", digest, size };
  }

  function pushFields(repoUid: string, mediaType: string, fields: object, tag: string | undefined): Promise<Descriptor> {
    return pushContent(repoUid, Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, ...fields })), mediaType, tag);
  }

  async function pushContent(repo: PushRepo, content: Buffer, mediaType = IMAGE_TYPE, tag?: string): Promise<Descriptor> {
    const digest = digestOf(content);
    const push = { repo, reference: tag ?? digest, content, contentType: mediaType, origin, now: clock.now() };
    await pushManifest(push, { store, blobs, names, parsers, onManifest() {} });
    return { mediaType, digest, size: content.length };
  }

  return {
    url,
    dataDir,
    s3,
    store,
    blobs,
    parsers,
    uploads,
    clock,
    collector: otherCollector(),
    otherCollector,
    async newRepo() {
      const group = newUid("");
      const uid = newUid(group);
      const times = { create_time: "", update_time: "", body: "{}" };
      await store.transaction(async (db) => {
        await db
          .insertInto("group")
          .values({ uid: group, parent: null, name: "my-org", verified: 0, ...times })
          .execute();
        await db
          .insertInto("repo")
          .values({ uid, parent: group, name: "nginx", source: null, ...times })
          .execute();
      });
      return uid;
    },
    pushBlob,
    pushContent,
    async pushImage(repoUid, { tag, layers, subject } = {}) {
      const config = await pushBlob(
        repoUid,
        Buffer.from(JSON.stringify({ architecture: "amd64", os: "linux", id: randomBytes(8).toString("hex") })),
      );
      return pushFields(repoUid, IMAGE_TYPE, { config, layers: layers ?? [await pushBlob(repoUid)], subject }, tag);
    },
    pushIndex: (repoUid, { tag, ...fields }) => pushFields(repoUid, INDEX_TYPE, fields, tag),
    deleteTag: (repoUid, name) => deleteTag(name, { repoUid, origin, now: clock.now() }, { store, names }),
    deleteManifest: (repoUid, digest) => deleteManifest(digest, { repoUid, origin, now: clock.now() }, { store, names }),
    async [Symbol.asyncDispose]() {
      await parsers[Symbol.asyncDispose]();
      await blobs[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      if (beside === undefined) await s3?.[Symbol.asyncDispose]();
      if (beside === undefined) await rm(dataDir, { recursive: true });
    },
  };
}
