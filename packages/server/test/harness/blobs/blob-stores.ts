/** Opens every implementation of the blob store for the tests that hold for all of them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFilesystemBlobs } from "../../../src/blobs/filesystem.ts";
import { createS3Blobs, type S3Blobs } from "../../../src/blobs/s3/s3-blobs.ts";
import type { S3Location } from "../../../src/blobs/s3/s3-location.ts";
import type { BlobStore } from "../../../src/blobs/store.ts";
import { openDatabase } from "../../../src/cli/open-installation.ts";
import type { Store } from "../../../src/db/store.ts";
import { createLog } from "../../../src/lib/log.ts";
import type { StoreName } from "../harness.ts";
import { createDatabaseOn, createMigratedDatabase } from "../migrated-database.ts";
import { S3_BUCKET, S3_CREDENTIALS, type S3Server, startS3Server } from "./s3-server.ts";
import { startVersitygw } from "./versitygw.ts";

export interface BlobPlace extends AsyncDisposable {
  /** A store like that of one more server. */
  open(): BlobStore;
  /** Everything that is stored besides blobs, such as unfinished uploads. */
  leftovers(): Promise<readonly string[]>;
}

export interface S3Place extends BlobPlace {
  readonly s3: S3Server;
  readonly store: Store;
  open(options?: { readonly timeoutMs?: number }): S3Blobs;
}

const log = createLog("silent");

export async function createFolderPlace(): Promise<BlobPlace> {
  const { readdir } = await import("node:fs/promises");
  const dataDir = await mkdtemp(join(tmpdir(), "holt-blobs-"));
  return {
    open: () => createFilesystemBlobs({ dataDir, log }),
    leftovers: () => readdir(join(dataDir, "uploads")),
    [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true }),
  };
}

export function locationOf({ url }: S3Server): S3Location {
  return { bucket: S3_BUCKET, prefix: "holt/", endpoint: url, region: "us-east-1", pathStyle: true };
}

/** The SDK finds credentials in the environment. */
export function useS3Credentials(): void {
  process.env.AWS_ACCESS_KEY_ID = S3_CREDENTIALS.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = S3_CREDENTIALS.secretAccessKey;
}

export async function createS3Place(kind: StoreName = "sqlite"): Promise<S3Place> {
  await using stack = new AsyncDisposableStack();
  useS3Credentials();
  const dataDir = await mkdtemp(join(tmpdir(), "holt-blobs-"));
  stack.defer(() => rm(dataDir, { recursive: true }));
  const s3 = stack.use(await startS3Server());
  const store = stack.use(await openDatabase({ url: await createDatabaseOn(kind), dataDir, log }));
  const location = locationOf(s3);
  const owned = stack.move();
  return {
    s3,
    store,
    open: (options = {}) => owned.use(createS3Blobs({ location, store, log, ...options })),
    async leftovers() {
      const rows = await store.reader.selectFrom("blob_upload").select("upload").execute();
      const keys = s3.objects.keys().filter((key) => key.startsWith("holt/uploads/"));
      return [...rows.map(({ upload }) => upload), ...keys, ...s3.objects.multiparts().map(({ key }) => key)];
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A bucket of versitygw. @param program path of its executable */
export async function createVersitygwPlace(program: string): Promise<BlobPlace> {
  await using stack = new AsyncDisposableStack();
  useS3Credentials();
  const dataDir = await mkdtemp(join(tmpdir(), "holt-blobs-"));
  stack.defer(() => rm(dataDir, { recursive: true }));
  const s3 = stack.use(await startVersitygw(program));
  const store = stack.use(await openDatabase({ url: await createMigratedDatabase(), dataDir, log }));
  const owned = stack.move();
  return {
    open: () => owned.use(createS3Blobs({ location: s3.location, store, log })),
    async leftovers() {
      const rows = await store.reader.selectFrom("blob_upload").select("upload").execute();
      return [...rows.map(({ upload }) => upload), ...(await s3.keysBelow(`${s3.location.prefix}uploads/`))];
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
